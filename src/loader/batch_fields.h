#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "loader/batch_maker.h"
#include "store/graph_set.h"

namespace plimsoll {

/// The tensors of a batch, as PyTorch Geometric names them, in its order. edge_ptr is where the edges of each
/// graph begin. y and node_y are targets, f32, where the data set has some of graphs and of nodes: one of
/// each item without an axis of its own.
enum class BatchField : uint8_t { x, edge_index, edge_attr, y, pos, node_y, batch, ptr, edge_ptr };
inline constexpr int kBatchFields = 9;

/// Which tensors batches of a data set have, and how large they are.
class BatchFields {
 public:
  using Field = BatchField;
  static constexpr int kCount = kBatchFields;

  /// Those that the data set has columns for, but `left_out`, which names some of x, edge_index, edge_attr,
  /// y, pos and node_y.
  explicit BatchFields(const GraphSetView& set, const std::vector<std::string>& left_out = {});

  static const char* name(BatchField field);
  bool is_float(BatchField field) const;  ///< f32; i64 otherwise
  bool has(BatchField field) const { return has_[index(field)]; }
  std::vector<int64_t> shape(BatchField field, const BatchCounts& counts) const;
  int64_t bytes(BatchField field, const BatchCounts& counts) const;  ///< 0 where it is left out
  int64_t bytes(const BatchCounts& counts) const;                    ///< of all tensors together

 private:
  static size_t index(BatchField field) { return static_cast<size_t>(field); }
  std::array<bool, kBatchFields> has_{};
  int64_t node_features_;
  int64_t edge_features_;
  TargetWidths targets_;
};

}  // namespace plimsoll
