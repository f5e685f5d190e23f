#include "engine/blocks/collate.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "engine/blocks/collate_types.h"
#include "engine/blocks/item_kind.h"
#include "engine/blocks/trimmed_layers.h"
#include "ops/attention/attention.h"

namespace plimsoll {

namespace {

// Counting sort. First, ptr[n + 1] counts the edges out of n; then ptr[n] is the position of the next ID of
// n.
void list_neighbours(const GraphBlock& block, int64_t node_features, const at::Tensor& edge_index,
                     Batch& batch) {
  const int64_t nodes = block.nodes();
  const int64_t edges = block.edge_count();
  batch.neighbour_ptr = at::zeros({nodes + 1}, at::kLong);
  batch.neighbour_ids = at::empty({edges}, at::kLong);
  int64_t* const ptr = batch.neighbour_ptr.mutable_data_ptr<int64_t>();
  int64_t* const ids = batch.neighbour_ids.mutable_data_ptr<int64_t>();
  const int64_t* const source = edge_index.const_data_ptr<int64_t>();
  const int64_t* const target = source + edges;
  for (int64_t e = 0; e < edges; ++e) ++ptr[source[e] + 1];
  std::partial_sum(ptr, ptr + nodes + 1, ptr);
  for (int64_t e = 0; e < edges; ++e)
    ids[ptr[source[e]]++] = static_cast<int64_t>(block.x[static_cast<size_t>(target[e] * node_features)]);
  // Now ptr[n] is the end of n's list. Duplicates are removed, and the lists are moved together.
  int64_t begin = 0;
  int64_t* to = ids;
  for (int64_t n = 0; n < nodes; ++n) {
    std::sort(ids + begin, ids + ptr[n]);
    const int64_t* const list = to;
    for (int64_t i = begin; i < ptr[n]; ++i)
      if (to == list || to[-1] != ids[i]) *to++ = ids[i];
    begin = ptr[n];
    ptr[n] = list - ids;
  }
  ptr[nodes] = to - ids;
}

// Returns the layers of a block that is a sample, if the model computes the seeds layer by layer.
std::optional<TrimmedLayers> trimmed(const GraphBlock& block, const CollateOptions& options) {
  if (block.prefixes.empty() || options.layers == 0) return std::nullopt;
  if (block.graphs() != 1)
    throw Failure(
        fmt::format("a block of {} samples cannot be trimmed to its hops, expected one", block.graphs()));
  return TrimmedLayers(block.prefixes, {block.nodes(), block.edge_count()}, options.layers);
}

// Counts the edges into each node, self-loops excluded, or sums their weights.
at::Tensor count_degrees(const GraphBlock& block, bool by_weight) {
  at::Tensor degrees = at::zeros({block.nodes()}, at::kFloat);
  float* const degree = degrees.mutable_data_ptr<float>();
  for (size_t e = 0; e < block.edges.size() / 2; ++e) {
    const int32_t target = block.edges[2 * e + 1];
    if (block.edges[2 * e] != target) degree[target] += by_weight ? block.edge_attr[e] : 1;
  }
  return degrees;
}

}  // namespace

Batch collate(const GraphBlock& block, const RowWidths& widths, const CollateOptions& options) {
  if (widths.layout != nullptr) return collate_types(block, widths, options);
  const int64_t graphs = block.graphs();
  const std::optional<TrimmedLayers> layers = trimmed(block, options);
  const auto [nodes, edges] = layers ? layers->read() : Prefix{block.nodes(), block.edge_count()};

  Batch batch;
  // from_blob() accepts no const pointer; nothing writes to these tensors.
  batch.x = at::from_blob(const_cast<float*>(block.x.data()), {nodes, widths.node_features}, at::kFloat);
  batch.edge_attr =
      at::from_blob(const_cast<float*>(block.edge_attr.data()), {edges, widths.edge_features}, at::kFloat);
  if (widths.row_places)
    batch.row_place = at::from_blob(const_cast<int32_t*>(block.row_place.data()), {nodes}, at::kInt);
  if (options.edge_weight) batch.edge_weight = batch.edge_attr.view({edges});
  batch.graph_ptr = at::from_blob(const_cast<int64_t*>(block.node_ptr.data()), {graphs + 1}, at::kLong);
  const auto optional_rows = [&](const ItemRows& rows, const auto& values) {
    if (rows.width == 0) return at::Tensor();
    return at::from_blob(const_cast<float*>(values.data()), {rows.rows(graphs, nodes), rows.width},
                         at::kFloat);
  };
  batch.teacher = optional_rows(widths.teacher, block.teacher);
  batch.targets = optional_rows(widths.targets, block.targets);
  batch.pos = optional_rows({widths.coordinates, /*of_nodes=*/true}, block.pos);
  batch.planar = widths.planar;
  item_kind(options.items).collate(block, batch);
  const int64_t keyed = layers ? layers->made() : nodes;
  batch.node_keys = at::empty({3, keyed}, at::kLong);
  batch.graph_item = at::empty({graphs}, at::kLong);
  batch.graph_local = at::zeros({graphs}, at::kLong);
  if (layers && options.degrees) batch.degrees = count_degrees(block, options.edge_weight);

  const at::Tensor edge_index = at::empty({2, edges}, at::kLong);
  int64_t* source = edge_index.mutable_data_ptr<int64_t>();
  int64_t* target = source + edges;
  int64_t* const item = batch.node_keys.mutable_data_ptr<int64_t>();
  int64_t* const local = item + keyed;
  int64_t* const first_edge = local + keyed;
  for (int64_t g = 0; g < graphs; ++g) {
    const auto at = static_cast<size_t>(g);
    const int64_t first = block.node_ptr[at];
    const int64_t count = std::min(block.node_ptr[at + 1], keyed) - first;
    const int64_t end = std::min(block.edge_ptr[at + 1], edges);
    for (int64_t e = block.edge_ptr[at]; e < end; ++e) {
      *source++ = first + block.edges[static_cast<size_t>(2 * e)];
      *target++ = first + block.edges[static_cast<size_t>(2 * e + 1)];
    }
    std::fill_n(item + first, count, block.graph[at]);
    std::iota(local + first, local + first + count, int64_t{0});
    std::fill_n(first_edge + first, count, block.edge_ptr[at]);
    batch.graph_item.mutable_data_ptr<int64_t>()[g] = block.graph[at];
  }
  if (layers) {
    batch.layers = layers->edges(edge_index, /*drop_loops=*/!options.self_loops);
    return batch;
  }
  if (options.neighbour_ids) list_neighbours(block, widths.node_features, edge_index, batch);
  if (options.edge_index) batch.edge_index = edge_index;
  batch.edge_order = edge_order(edge_index, nodes, nodes, /*same_nodes=*/true,
                                /*drop_loops=*/!options.self_loops, batch.graph_ptr);
  return batch;
}

}  // namespace plimsoll
