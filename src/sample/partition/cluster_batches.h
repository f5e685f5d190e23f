#pragma once

#include <cstdint>
#include <span>

#include "sample/neighbour/neighbour_sampler.h"
#include "sample/partition/part_nodes.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// Batches of whole parts of a graph and all edges between their nodes: Chiang et al., "Cluster-GCN", KDD
/// 2019. Each epoch shuffles the parts and takes `parts_per_batch` at a time; the last batch may have fewer.
/// What is in a batch is a function of (seed, epoch, number of the batch). read() may be called by any number
/// of threads at once. The topology has to outlive it.
class ClusterBatches {
 public:
  /// `parts` [V] is the part of each node, as PartNodes has it. Errors: those of PartNodes; UsageError for no
  /// part a batch.
  ClusterBatches(const Topology& topology, std::span<const int32_t> parts, int64_t parts_per_batch,
                 uint64_t seed);

  int64_t parts() const { return nodes_.parts(); }
  int64_t batches() const { return (parts() + parts_per_batch_ - 1) / parts_per_batch_; }

  /// Replaces `out` by a batch, 0 .. batches()-1: the induced subgraph of its nodes, part by part, each in
  /// ascending order. Errors: those of the topology, BudgetExceeded.
  void read(int64_t batch, uint32_t epoch, SampledSubgraph& out) const;

 private:
  const Topology& topology_;
  int64_t parts_per_batch_;
  uint64_t seed_;
  PartNodes nodes_;
};

}  // namespace plimsoll
