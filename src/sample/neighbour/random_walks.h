#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/neighbour/walk_choice.h"
#include "sample/seeds/draws.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// The bias of node2vec: Grover and Leskovec, "node2vec: scalable feature learning for networks", KDD 2016.
/// From t by way of v a walk goes on to the neighbour x with a probability proportional to 1/p if x is t, 1
/// if x is in the list of t, else 1/q. p = q = 1 is uniform.
struct WalkOptions {
  int64_t length = 0;          ///< steps
  int64_t walks_per_node = 1;  ///< walks that begin at each start
  double p = 1;
  double q = 1;

  bool is_uniform() const { return p == 1 && q == 1; }
};

/// Nodes of walks, [starts x walks_per_node, length + 1], in the order of the starts.
template <typename T>
using Walks = Vector<T, Tag::blocks>;

/// Random walks along neighbour lists: against the direction of edges where these are in-neighbours. At a
/// node without neighbours a walk stays. All walks go on together, step by step, so that reads come in
/// batches, and on a disk in the order of nodes, so that a step is one pass over the file. A biased step
/// draws a neighbour and rejects it with the right probability, so that what it costs does not depend on
/// degrees; whether x is in the list of t is looked up only where that decides (Yang et al., "KnightKing",
/// SOSP 2019). After more than a thousand draws, as without triangles for large p and q, it chooses exactly:
/// choose_step(), by the shorter of two lists; with p or q beyond 100 or 1/100 after 64, if that is short.
///
/// What is drawn is a function of (seed, epoch, start, which of its walks, step): threads, read paths,
/// budgets and the other starts have no influence.
///
/// Nodes are T: int64_t, or uint32_t where there are fewer than 2^32. Not thread-safe: it keeps scratch
/// memory. The topology has to outlive it.
template <typename T>
class RandomWalks {
 public:
  /// In which order walks are read.
  enum class Reading {
    memory,  ///< as they come: for few walks at a time
    disk,    ///< in the order of nodes, several draws at a time: for many
  };
  /// Walks that are read together, and how many draws are made for one at a time on a disk.
  static constexpr int64_t kTogether = 1 << 14;
  static constexpr int64_t kDraws = 2;

  /// Errors: UsageError for a length or number of walks that is negative or beyond 32 bits, for p or q
  /// that is not from 1e-9 to 1e9. A biased walk expects ascending lists: require_ascending_lists().
  RandomWalks(const Topology& topology, const WalkOptions& options, uint64_t seed,
              Reading reading = Reading::memory);

  /// Replaces `out` by the walks from these starts. Errors: UsageError for a start that is not in the graph;
  /// those of the topology; BudgetExceeded.
  void walk(std::span<const int64_t> starts, uint32_t epoch, Walks<T>& out);

  /// The same in its parts: all walks are at their starts, up to 2^32 - 1 of them; they go a step, of
  /// options.length; where they are, [starts x walks_per_node]. Errors: UsageError for more walks; those of
  /// walk(); step(): Interrupted.
  void begin(std::span<const int64_t> starts, uint32_t epoch);
  void step();
  std::span<const T> at() const { return at_; }
  /// What so many walks take at most (Tag::blocks), from so many starts.
  static int64_t bytes_for(int64_t starts, const WalkOptions& options);

 private:
  template <typename V>
  using Column = Vector<V, Tag::blocks>;
  using Part = std::span<const uint32_t>;

  void sort(Column<uint32_t>& walks, const Column<T>& nodes);
  void draw(Part walks, bool biased);
  void decide(uint32_t walk, size_t first, size_t draws);
  void look_up(Part walks);
  bool is_to_choose(uint32_t walk, uint32_t used) const;
  void choose(uint32_t walk);
  Draws numbers_of(size_t walk) const;
  void go(uint32_t walk, int64_t to);
  size_t each() const { return static_cast<size_t>(options_.walks_per_node); }

  const Topology& topology_;
  WalkOptions options_;
  uint64_t seed_;
  Reading reading_;
  WalkChances chances_;  // relative to those of the likeliest kind

  int64_t step_ = 0;
  Column<uint64_t> keys_;     // of each start
  Column<T> at_;              // where each walk is
  Column<T> before_;          // and was before; empty where steps are uniform, as what follows
  Column<T> drawn_;           // a neighbour that is to be looked up
  Column<uint32_t> numbers_;  // how many random numbers this step has used

  Column<uint32_t> waiting_;  // walks that have not taken this step
  Column<uint32_t> asked_;    // those whose neighbour is to be looked up
  Column<uint32_t> again_;    // those of waiting_ that draw again
  Column<uint32_t> sorted_;

  // Of walks that are read together.
  Column<int64_t> nodes_;
  Column<EdgeRange> lists_;
  Column<int64_t> edges_;       // drawn
  Column<int64_t> neighbours_;  // where they lead
  Column<double> accepted_;     // below the chance of its kind a neighbour is taken
  Column<uint32_t> used_;       // random numbers of the step after each draw
  Column<uint8_t> found_;
};

}  // namespace plimsoll
