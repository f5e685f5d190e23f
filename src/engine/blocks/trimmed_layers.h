#pragma once

#include <span>
#include <vector>

#include "nn/batch.h"
#include "sample/block/block.h"

namespace plimsoll {

/// How `layers` layers read a sample that has `prefixes` within 0, 1, ... hops of its seeds, and is `whole`
/// within all: layer l of L makes what lies within L-1-l hops, and reads what lies within one more.
class TrimmedLayers {
 public:
  TrimmedLayers(std::span<const Prefix> prefixes, const Prefix& whole, int64_t layers)
      : prefixes_(prefixes), whole_(whole), layers_(layers) {}

  /// Nodes that the first layer reads, and the edges that it has into those that it makes.
  Prefix read() const { return {within(layers_).nodes, within(layers_ - 1).edges}; }
  /// Nodes that the first layer makes.
  int64_t made() const { return within(layers_ - 1).nodes; }

  /// Batch::layers. edge_index i64 [2, E] has at least the edges of read(), in their order. Layers beyond the
  /// hops share an order.
  std::vector<LayerEdges> edges(const at::Tensor& edge_index, bool drop_loops) const;

  /// What lies within so many hops.
  const Prefix& within(int64_t hops) const {
    return hops < static_cast<int64_t>(prefixes_.size()) ? prefixes_[static_cast<size_t>(hops)] : whole_;
  }

 private:
  std::span<const Prefix> prefixes_;
  Prefix whole_;
  int64_t layers_;
};

}  // namespace plimsoll
