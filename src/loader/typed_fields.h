#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "loader/batch_maker.h"

namespace plimsoll {

/// The tensors of a batch sampled from a graph with types, with the names of PyTorch Geometric's
/// NeighborLoader. Each tensor has the rows of all types, one type after the other.
enum class TypedField : uint8_t { n_id, edge_index, e_id, batch, nodes_per_hop, edges_per_hop, input_id };

/// The selection of tensors in these batches, and the sizes of these tensors. All are i64.
class TypedFields {
 public:
  using Field = TypedField;
  static constexpr int kCount = 7;

  /// Selects all tensors, but `batch` only if subgraphs are disjoint.
  TypedFields(int64_t node_types, int64_t edge_types, int64_t hops, bool disjoint)
      : node_types_(node_types), edge_types_(edge_types), hops_(hops), disjoint_(disjoint) {}

  static const char* name(TypedField field);
  static bool is_float(TypedField /*field*/) { return false; }
  bool has(TypedField field) const { return field != TypedField::batch || disjoint_; }
  std::vector<int64_t> shape(TypedField field, const BatchCounts& counts) const;
  /// Returns the bytes of each tensor; 0 if it is left out.
  std::vector<int64_t> bytes(const BatchCounts& counts) const;

 private:
  int64_t node_types_;
  int64_t edge_types_;
  int64_t hops_;
  bool disjoint_;
};

}  // namespace plimsoll
