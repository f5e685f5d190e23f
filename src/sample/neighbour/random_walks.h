#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/seeds/draws.h"
#include "sample/topology/list_search.h"
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
};

/// Nodes of walks, [starts x walks_per_node, length + 1], in the order of the starts.
using Walks = Vector<int64_t, Tag::blocks>;

/// Random walks along neighbour lists: against the direction of edges where these are in-neighbours. At a
/// node without neighbours a walk stays. All walks go on together, step by step, so that reads come in
/// batches. A biased step draws a neighbour and rejects it with the right probability, so that what it costs
/// does not depend on degrees.
///
/// What is drawn is a function of (seed, epoch, start, which of its walks, step): threads, read paths,
/// budgets and the other starts have no influence.
///
/// Not thread-safe: it keeps scratch memory. The topology has to outlive it.
class RandomWalks {
 public:
  /// Errors: UsageError for a length or number of walks that is negative or beyond 32 bits, for p or q that
  /// is not above 0. A biased walk expects ascending lists: require_ascending_lists().
  RandomWalks(const Topology& topology, const WalkOptions& options, uint64_t seed);

  /// Replaces `out` by the walks from these starts. Errors: UsageError for a start that is not in the graph;
  /// those of the topology; BudgetExceeded.
  void walk(std::span<const int64_t> starts, uint32_t epoch, Walks& out);

 private:
  void begin(std::span<const int64_t> starts, uint32_t epoch);
  void begin_step(int64_t step);
  void draw();
  void weigh();
  void accept();

  const Topology& topology_;
  WalkOptions options_;
  uint64_t seed_;
  ListSearch search_;

  template <typename T>
  using Column = Vector<T, Tag::blocks>;
  Column<uint64_t> keys_;       // of each start
  Column<int64_t> at_;          // where each walk is
  Column<int64_t> before_;      // and was before
  Column<EdgeRange> lists_;     // the list of at_
  Column<EdgeRange> older_;     // that of before_
  Column<Draws> draws_;         // of each walk, for this step
  Column<size_t> waiting_;      // the walks that have not taken this step; what follows is for each of these
  Column<int64_t> edges_;       // drawn
  Column<int64_t> neighbours_;  // where they lead
  Column<double> chances_;      // of being accepted
  Column<EdgeRange> back_;      // the list of before_
  Column<int64_t> places_;      // scratch of the search
  Column<uint8_t> near_;        // whether the neighbour is in that list
};

}  // namespace plimsoll
