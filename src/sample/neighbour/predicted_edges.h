#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/neighbour/neighbour_choice.h"
#include "sample/topology/list_search.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// Edges between the ends of the pairs that batches predict. They are left out of the samples of these
/// batches in both directions, because a model could read the answer from either one. The lists of the
/// topology must ascend. Not thread-safe: it keeps scratch memory.
class PredictedEdges {
 public:
  void clear() { found_.clear(); }
  bool empty() const { return found_.empty(); }
  /// Adds a pair that a batch predicts. Call find() afterwards.
  void add(uint32_t batch, int64_t a, int64_t b);
  /// Looks up all pairs. Errors: UsageError for a node that is not in the graph; those of the topology.
  void find(const Topology& topology);
  /// Returns the edges of a node's list that a batch leaves out, ascending; valid until the next call. Call
  /// find() first.
  NeighbourChoice::Without of_node(uint32_t batch, int64_t node);
  /// Returns the maximum bytes (Tag::blocks) of an object with this number of pairs.
  static int64_t bytes_for(int64_t pairs);

 private:
  // One end of a pair; its list is searched for the other end.
  struct End {
    uint32_t batch;
    int64_t node;
    int64_t neighbour;
    EdgeRun run;
  };
  void look_up(const Topology& topology, ListSearch& search, std::span<End> ends);

  Vector<End, Tag::blocks> found_;
  Vector<EdgeRun, Tag::blocks> runs_;   // Result of the last call of of_node().
  Vector<int64_t, Tag::blocks> nodes_;  // Nodes of the ends that are looked up together.
  Vector<int64_t, Tag::blocks> neighbours_;
  Vector<EdgeRange, Tag::blocks> lists_;
  Vector<int64_t, Tag::blocks> places_;
  Vector<uint8_t, Tag::blocks> is_there_;
};

}  // namespace plimsoll
