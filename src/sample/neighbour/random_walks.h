#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/neighbour/walk_choice.h"
#include "sample/seeds/draws.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// The bias of node2vec (Grover and Leskovec, "node2vec: scalable feature learning for networks", KDD 2016).
/// A walk that went from t to v continues to the neighbour x of v with a probability proportional to 1/p if x
/// is t, to 1 if x is in the list of t, and otherwise to 1/q. With p = q = 1, walks are uniform.
struct WalkOptions {
  int64_t length = 0;          ///< Steps per walk.
  int64_t walks_per_node = 1;  ///< Walks per start.
  double p = 1;
  double q = 1;

  bool is_uniform() const { return p == 1 && q == 1; }
};

/// The nodes of walks, [starts x walks_per_node, length + 1], in the order of the starts.
template <typename T>
using Walks = Vector<T, Tag::blocks>;

/// Random walks along neighbour lists, that is, against the direction of edges if these are in-neighbours. At
/// a node without neighbours a walk stays. All walks advance together, step by step, so that reads come in
/// batches; on a disk they are in node order, so that a step is one pass over the file. A biased step draws a
/// neighbour and rejects it with the right probability, so its cost does not depend on degrees. The list of t
/// is only searched if the decision depends on it (Yang et al., "KnightKing", SOSP 2019). After more than a
/// thousand draws, which happens without triangles for large p and q, choose_step() chooses the step exactly,
/// using the shorter of the two lists. With p or q beyond 100 or 1/100 this happens after 64 draws if that
/// list is short.
///
/// Draws are a function of (seed, epoch, start, walk of this start, step): threads, read paths, budgets and
/// the other starts have no influence.
///
/// Nodes are of type T: int64_t, or uint32_t for fewer than 2^32 nodes. Not thread-safe: it keeps scratch
/// memory. The topology must outlive it.
template <typename T>
class RandomWalks {
 public:
  /// The order in which lists are read.
  enum class Reading {
    memory,  ///< In walk order, for few walks at a time.
    disk,    ///< In node order with several draws at a time, for many walks.
  };
  /// Number of walks that are read together and, on a disk, of draws that are made together for one walk.
  static constexpr int64_t kTogether = 1 << 14;
  static constexpr int64_t kDraws = 2;

  /// Errors: UsageError for a length or number of walks that is negative or beyond 32 bits, and for p or q
  /// outside 1e-9 .. 1e9. Biased walks need ascending lists: require_ascending_lists().
  RandomWalks(const Topology& topology, const WalkOptions& options, uint64_t seed,
              Reading reading = Reading::memory);

  /// Replaces `out` with the walks from these starts. Errors: UsageError for a start that is not in the
  /// graph, or for more than 2^32 - 1 walks; those of the topology; BudgetExceeded, Interrupted.
  void walk(std::span<const int64_t> starts, uint32_t epoch, Walks<T>& out);

  /// Makes the same walks in steps. begin() puts all walks, up to 2^32 - 1, at their starts; step() advances
  /// them by one of options.length steps; at() returns their nodes, [starts x walks_per_node]. Call step() at
  /// most options.length times after begin(). Errors: those of walk().
  void begin(std::span<const int64_t> starts, uint32_t epoch);
  void step();
  std::span<const T> at() const { return at_; }
  /// Returns the maximum bytes (Tag::blocks) that an object holds for the walks from `starts` starts, without
  /// the output of walk().
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
  WalkChances chances_;  // Chances relative to the largest one.

  int64_t step_ = 0;
  Column<uint64_t> keys_;  // Key of each start.
  Column<T> at_;           // Current node of each walk.
  // Previous node of each walk. This column and the next are empty if steps are uniform.
  Column<T> before_;
  Column<T> drawn_;           // Drawn neighbours that are looked up.
  Column<uint32_t> numbers_;  // Random numbers used in this step, per walk.

  Column<uint32_t> waiting_;  // Walks that have not made this step yet.
  Column<uint32_t> asked_;    // Walks whose neighbour is looked up.
  Column<uint32_t> again_;    // Entries of waiting_ that must draw again.
  Column<uint32_t> sorted_;

  // The columns from here on are for walks that are read together.
  Column<int64_t> nodes_;
  Column<EdgeRange> lists_;
  Column<int64_t> edges_;       // Drawn edges.
  Column<int64_t> neighbours_;  // Neighbours of the last edges of edges_.
  Column<double> accepted_;     // A neighbour is accepted if this number is below the chance of its kind.
  Column<uint32_t> used_;       // Random numbers used in this step up to and including each draw.
  Column<uint8_t> found_;
};

}  // namespace plimsoll
