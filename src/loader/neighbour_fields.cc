#include "loader/neighbour_fields.h"

namespace plimsoll {

NeighbourFields::NeighbourFields(const GraphView& graph, const NeighbourOptions& options, bool columns)
    : node_features_(graph.node_features()),
      edge_features_(graph.edge_features()),
      hops_(static_cast<int64_t>(options.fan_outs.size())) {
  const bool by_hop = options.subgraph == SubgraphType::directional;
  has_.fill(true);
  const auto keep = [&](NeighbourField field, bool kept) { has_[static_cast<size_t>(field)] = kept; };
  keep(NeighbourField::x, columns && node_features_ != 0);
  keep(NeighbourField::edge_attr, columns && edge_features_ != 0);
  keep(NeighbourField::y, columns && !graph.y().empty());
  keep(NeighbourField::edge_weight, columns && !graph.edge_weight().empty());
  keep(NeighbourField::batch, options.disjoint);
  keep(NeighbourField::nodes_per_hop, by_hop);
  keep(NeighbourField::edges_per_hop, by_hop);
}

const char* NeighbourFields::name(NeighbourField field) {
  static constexpr std::array<const char*, kCount> kNames = {
      "x",     "edge_index",        "edge_attr",         "y",       "edge_weight", "n_id", "e_id",
      "batch", "num_sampled_nodes", "num_sampled_edges", "input_id"};
  return kNames[static_cast<size_t>(field)];
}

bool NeighbourFields::is_float(NeighbourField field) {
  return field == NeighbourField::x || field == NeighbourField::edge_attr ||
         field == NeighbourField::edge_weight;
}

std::vector<int64_t> NeighbourFields::shape(NeighbourField field, const BatchCounts& counts) const {
  switch (field) {
    case NeighbourField::x:
      return {counts.nodes, node_features_};
    case NeighbourField::edge_index:
      return {2, counts.edges};
    case NeighbourField::edge_attr:
      return {counts.edges, edge_features_};
    case NeighbourField::edge_weight:
    case NeighbourField::e_id:
      return {counts.edges};
    case NeighbourField::input_id:
      return {counts.graphs};
    case NeighbourField::nodes_per_hop:
      return {hops_ + 1};
    case NeighbourField::edges_per_hop:
      return {hops_};
    default:
      return {counts.nodes};
  }
}

std::vector<int64_t> NeighbourFields::bytes(const BatchCounts& counts) const {
  std::vector<int64_t> bytes;
  for (int i = 0; i < kCount; ++i) {
    const auto field = static_cast<NeighbourField>(i);
    auto size = static_cast<int64_t>(is_float(field) ? sizeof(float) : sizeof(int64_t));
    for (const int64_t axis : shape(field, counts)) size *= axis;
    bytes.push_back(has(field) ? size : 0);
  }
  return bytes;
}

}  // namespace plimsoll
