#pragma once

#include <span>
#include <vector>

#include "nn/batch.h"
#include "sample/block/block.h"

namespace plimsoll {

/// The nodes and edges that each of `layers` layers reads in a sample. `prefixes` are the parts of the sample
/// within 0, 1, ... hops of its seeds, and `whole` is the part within all hops. Layer l of L computes the
/// nodes within L-1-l hops, and reads those within one more hop.
class TrimmedLayers {
 public:
  TrimmedLayers(std::span<const Prefix> prefixes, const Prefix& whole, int64_t layers)
      : prefixes_(prefixes), whole_(whole), layers_(layers) {}

  /// Number of nodes that the first layer reads, and number of edges into the nodes that it computes.
  Prefix read() const { return {within(layers_).nodes, within(layers_ - 1).edges}; }
  /// Number of nodes that the first layer computes.
  int64_t made() const { return within(layers_ - 1).nodes; }

  /// Returns the edges of each layer, for Batch::layers. edge_index i64 [2, E] starts with the edges of
  /// read(), in their order. Layers beyond the hops share an order. Errors: those of edge_order().
  std::vector<LayerEdges> edges(const at::Tensor& edge_index, bool drop_loops) const;

  /// The nodes and edges within `hops` hops.
  const Prefix& within(int64_t hops) const {
    return hops < static_cast<int64_t>(prefixes_.size()) ? prefixes_[static_cast<size_t>(hops)] : whole_;
  }

 private:
  std::span<const Prefix> prefixes_;
  Prefix whole_;
  int64_t layers_;
};

}  // namespace plimsoll
