#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "loader/batch_maker.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "store/graph.h"

namespace plimsoll {

/// The tensors of a batch of sampled neighbours: what PyTorch Geometric's NeighborLoader calls so, in its
/// order. What is counted by hop has the names num_sampled_nodes and num_sampled_edges.
enum class NeighbourField : uint8_t {
  x,
  edge_index,
  edge_attr,
  y,
  edge_weight,
  n_id,
  e_id,
  batch,
  nodes_per_hop,
  edges_per_hop,
  input_id
};

/// Which tensors batches of a graph have, and how large they are.
class NeighbourFields {
 public:
  using Field = NeighbourField;
  static constexpr int kCount = 11;

  /// Those that the graph has columns for, unless these are left out; `batch` where seeds do not share nodes,
  /// what is counted by hop where edges are those sampled.
  NeighbourFields(const GraphView& graph, const NeighbourOptions& options, bool columns = true);

  static const char* name(NeighbourField field);
  static bool is_float(NeighbourField field);  ///< f32; i64 otherwise
  bool has(NeighbourField field) const { return has_[static_cast<size_t>(field)]; }
  std::vector<int64_t> shape(NeighbourField field, const BatchCounts& counts) const;
  /// Of each tensor; 0 where it is left out.
  std::vector<int64_t> bytes(const BatchCounts& counts) const;

 private:
  std::array<bool, kCount> has_{};
  int64_t node_features_;
  int64_t edge_features_;
  int64_t hops_;
};

}  // namespace plimsoll
