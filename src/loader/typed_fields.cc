#include "loader/typed_fields.h"

namespace plimsoll {

const char* TypedFields::name(TypedField field) {
  static constexpr std::array<const char*, kCount> kNames = {
      "n_id", "edge_index", "e_id", "batch", "num_sampled_nodes", "num_sampled_edges", "input_id"};
  return kNames[static_cast<size_t>(field)];
}

std::vector<int64_t> TypedFields::shape(TypedField field, const BatchCounts& counts) const {
  switch (field) {
    case TypedField::n_id:
    case TypedField::batch:
      return {counts.nodes};
    case TypedField::edge_index:
      return {2 * counts.edges};
    case TypedField::e_id:
      return {counts.edges};
    case TypedField::nodes_per_hop:
      return {node_types_, hops_ + 1};
    case TypedField::edges_per_hop:
      return {edge_types_, hops_};
    case TypedField::input_id:
      return {counts.graphs};
  }
  return {};
}

std::vector<int64_t> TypedFields::bytes(const BatchCounts& counts) const {
  std::vector<int64_t> bytes;
  for (int i = 0; i < kCount; ++i) {
    const auto field = static_cast<TypedField>(i);
    int64_t size = has(field) ? int64_t{sizeof(int64_t)} : 0;
    for (const int64_t axis : shape(field, counts)) size *= axis;
    bytes.push_back(size);
  }
  return bytes;
}

}  // namespace plimsoll
