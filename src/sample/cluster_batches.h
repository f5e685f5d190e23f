#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/neighbour_sampler.h"
#include "sample/topology.h"

namespace plimsoll {

/// Batches of whole parts of a graph and all edges between their nodes: Chiang et al., "Cluster-GCN", KDD
/// 2019. Each epoch shuffles the parts and takes `parts_per_batch` at a time; the last batch may have fewer.
/// What is in a batch is a function of (seed, epoch, number of the batch). read() may be called by any number
/// of threads at once. The topology has to outlive it.
class ClusterBatches {
 public:
  /// `parts` [V] is the part of each node, 0 or more: stream_partition(). A part may be empty. Holds 8 bytes
  /// a node and a part. Errors: UsageError for parts that are not one a node, negative ones, no part a batch;
  /// BudgetExceeded.
  ClusterBatches(const Topology& topology, std::span<const int32_t> parts, int64_t parts_per_batch,
                 uint64_t seed);

  int64_t parts() const { return static_cast<int64_t>(part_ptr_.size()) - 1; }
  int64_t batches() const { return (parts() + parts_per_batch_ - 1) / parts_per_batch_; }

  /// Replaces `out` by a batch, 0 .. batches()-1: the induced subgraph of its nodes, part by part, each in
  /// ascending order. Errors: those of the topology, BudgetExceeded.
  void read(int64_t batch, uint32_t epoch, SampledSubgraph& out) const;

 private:
  const Topology& topology_;
  int64_t parts_per_batch_;
  uint64_t seed_;
  Vector<int64_t, Tag::columns> nodes_;     // part by part
  Vector<int64_t, Tag::columns> part_ptr_;  // where each begins
};

}  // namespace plimsoll
