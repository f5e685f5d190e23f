#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "loader/batch_maker.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "store/graph.h"

namespace plimsoll {

/// The tensors of a batch of sampled neighbours, with the names and in the order of PyTorch Geometric's
/// NeighborLoader. The counts per hop are named num_sampled_nodes and num_sampled_edges there.
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

/// The selection of tensors in the batches of a graph, and the sizes of these tensors.
class NeighbourFields {
 public:
  using Field = NeighbourField;
  static constexpr int kCount = 11;

  /// Selects the tensors for which the graph has columns, unless `columns` is false; `batch`, if seeds do not
  /// share nodes; and the counts per hop, if the edges are the sampled ones.
  NeighbourFields(const GraphView& graph, const NeighbourOptions& options, bool columns = true);

  static const char* name(NeighbourField field);
  static bool is_float(NeighbourField field);  ///< Returns whether the dtype is f32; otherwise it is i64.
  bool has(NeighbourField field) const { return has_[static_cast<size_t>(field)]; }
  std::vector<int64_t> shape(NeighbourField field, const BatchCounts& counts) const;
  /// Returns the bytes of each tensor; 0 if it is left out.
  std::vector<int64_t> bytes(const BatchCounts& counts) const;

 private:
  std::array<bool, kCount> has_{};
  int64_t node_features_;
  int64_t edge_features_;
  int64_t hops_;
};

}  // namespace plimsoll
