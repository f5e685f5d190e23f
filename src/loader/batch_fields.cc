#include "loader/batch_fields.h"

#include <algorithm>

namespace plimsoll {

const char* BatchFields::name(BatchField field) {
  static constexpr std::array<const char*, kBatchFields> kNames = {
      "x", "edge_index", "edge_attr", "y", "pos", "node_y", "batch", "ptr", "edge_ptr"};
  return kNames[index(field)];
}

bool BatchFields::is_float(BatchField field) const {
  if (field == BatchField::y) return targets_.graph > 0;
  if (field == BatchField::node_y) return targets_.node > 0;
  return field == BatchField::x || field == BatchField::edge_attr || field == BatchField::pos;
}

BatchFields::BatchFields(const GraphSetView& set, const std::vector<std::string>& left_out)
    : node_features_(set.node_features()), edge_features_(set.edge_features()), targets_(set.targets()) {
  has_.fill(true);
  has_[index(BatchField::x)] = node_features_ != 0;
  has_[index(BatchField::edge_attr)] = edge_features_ != 0;
  has_[index(BatchField::pos)] = set.set().has_column("pos");
  has_[index(BatchField::node_y)] = targets_.node > 0 || !set.graphs().node_y.empty();
  for (const BatchField field : {BatchField::x, BatchField::edge_index, BatchField::edge_attr, BatchField::y,
                                 BatchField::pos, BatchField::node_y})
    if (std::ranges::find(left_out, name(field)) != left_out.end()) has_[index(field)] = false;
}

std::vector<int64_t> BatchFields::shape(BatchField field, const BatchCounts& counts) const {
  const auto of_targets = [](int64_t rows, int64_t width) {
    return width > 1 ? std::vector{rows, width} : std::vector{rows};
  };
  switch (field) {
    case BatchField::x:
      return {counts.nodes, node_features_};
    case BatchField::edge_index:
      return {2, counts.edges};
    case BatchField::edge_attr:
      return {counts.edges, edge_features_};
    case BatchField::y:
      return of_targets(counts.graphs, targets_.graph);
    case BatchField::pos:
      return {counts.nodes, kCoordinates};
    case BatchField::node_y:
      return of_targets(counts.nodes, targets_.node);
    case BatchField::batch:
      return {counts.nodes};
    case BatchField::ptr:
    case BatchField::edge_ptr:
      return {counts.graphs + 1};
  }
  return {};
}

int64_t BatchFields::bytes(BatchField field, const BatchCounts& counts) const {
  if (!has(field)) return 0;
  int64_t values = is_float(field) ? sizeof(float) : sizeof(int64_t);
  for (const int64_t size : shape(field, counts)) values *= size;
  return values;
}

int64_t BatchFields::bytes(const BatchCounts& counts) const {
  int64_t sum = 0;
  for (int field = 0; field < kBatchFields; ++field) sum += bytes(static_cast<BatchField>(field), counts);
  return sum;
}

}  // namespace plimsoll
