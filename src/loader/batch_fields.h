#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "loader/batch_maker.h"
#include "store/graph_set.h"

namespace plimsoll {

/// The tensors of a batch, with the names and in the order of PyTorch Geometric. edge_ptr has the first edge
/// of each graph. y and node_y are f32 targets if the data set has targets of graphs or of nodes; with one
/// target per item, they have only one axis.
enum class BatchField : uint8_t { x, edge_index, edge_attr, y, pos, node_y, batch, ptr, edge_ptr };
inline constexpr int kBatchFields = 9;

/// The selection of tensors in the batches of a data set, and the sizes of these tensors.
class BatchFields {
 public:
  using Field = BatchField;
  static constexpr int kCount = kBatchFields;

  /// Selects the tensors for which the data set has columns, except those in `left_out`, which may name x,
  /// edge_index, edge_attr, y, pos and node_y; other names are ignored.
  explicit BatchFields(const GraphSetView& set, const std::vector<std::string>& left_out = {});

  static const char* name(BatchField field);
  bool is_float(BatchField field) const;  ///< Returns whether the dtype is f32; otherwise it is i64.
  bool has(BatchField field) const { return has_[index(field)]; }
  /// Returns the shape of a tensor, also if the field is left out.
  std::vector<int64_t> shape(BatchField field, const BatchCounts& counts) const;
  int64_t bytes(BatchField field, const BatchCounts& counts) const;  ///< Bytes of the tensor; 0 if the field
                                                                     ///< is left out.
  int64_t bytes(const BatchCounts& counts) const;                    ///< Bytes of all tensors together.

 private:
  static size_t index(BatchField field) { return static_cast<size_t>(field); }
  std::array<bool, kBatchFields> has_{};
  int64_t node_features_;
  int64_t edge_features_;
  TargetWidths targets_;
};

}  // namespace plimsoll
