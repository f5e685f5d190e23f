#include "engine/blocks/collate_types.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "engine/blocks/item_kind.h"
#include "ops/attention/attention.h"
#include "sample/typed/sample_layout.h"

namespace plimsoll {
namespace {

// from_blob accepts no const pointer; nothing writes to these.
at::Tensor view_of(const auto& values, size_t first, int64_t rows, int64_t columns, at::ScalarType type) {
  using Value = std::remove_cvref_t<decltype(values[0])>;
  return at::from_blob(const_cast<Value*>(values.data() + first), {rows, columns}, type);
}

void add_nodes(const GraphBlock& block, const SampleLayout& layout, TypedBatch& batch) {
  const std::span<const int64_t> counts(block.parts);
  size_t number = 0, code = 0;
  for (const SampleLayout::Nodes& type : layout.nodes) {
    const int64_t nodes = layout.within(type, layout.hops, counts);
    batch.numbers.push_back(view_of(block.x, number, nodes, type.numbers, at::kFloat));
    batch.codes.push_back(view_of(block.codes, code, type.codes(), nodes, at::kInt));
    number += static_cast<size_t>(nodes * type.numbers);
    code += static_cast<size_t>(nodes * type.codes());
    std::vector<int64_t>& within = batch.nodes.emplace_back();
    for (size_t hop = 0; hop <= layout.hops; ++hop) within.push_back(layout.within(type, hop, counts));
  }
}

// i64 [2, E]: the sources and targets of the edges of a type, whose first pair is at `pairs`.
at::Tensor edge_index_of(const int32_t* pairs, int64_t edges) {
  at::Tensor index = at::empty({2, edges}, at::kLong);
  int64_t* const source = index.mutable_data_ptr<int64_t>();
  for (int64_t e = 0; e < edges; ++e) {
    source[e] = pairs[2 * e];
    source[edges + e] = pairs[2 * e + 1];
  }
  return index;
}

// Adds the orders of all layers. Layer l computes the nodes within hops - 1 - l hops.
void add_edges(const GraphBlock& block, const SampleLayout& layout, TypedBatch& batch) {
  const std::span<const int64_t> counts(block.parts);
  batch.orders.assign(layout.hops, std::vector<at::Tensor>(layout.edges.size()));
  const int32_t* pairs = block.edges.data();
  for (size_t e = 0; e < layout.edges.size(); ++e) {
    const SampleLayout::Edges& type = layout.edges[e];
    const int64_t all = layout.within(type, layout.hops, counts);
    const at::Tensor index = edge_index_of(pairs, all);
    pairs += 2 * all;
    for (size_t layer = 0; layer + type.first_hop <= layout.hops; ++layer) {
      const size_t hops = layout.hops - 1 - layer;
      batch.orders[layer][e] =
          edge_order(index.narrow(1, 0, layout.within(type, hops + 1, counts)),
                     layout.within(layout.nodes[type.source], hops + 1, counts),
                     layout.within(layout.nodes[type.target], hops, counts), /*same_nodes=*/false,
                     /*drop_loops=*/false);
    }
  }
}

}  // namespace

Batch collate_types(const GraphBlock& block, const RowWidths& widths, const CollateOptions& options) {
  Batch batch;
  add_nodes(block, *widths.layout, batch.types);
  add_edges(block, *widths.layout, batch.types);
  item_kind(options.items).collate(block, batch);
  batch.graph_item = at::empty({block.graphs()}, at::kLong);
  std::ranges::copy(block.graph, batch.graph_item.mutable_data_ptr<int64_t>());
  if (widths.targets.width > 0)
    batch.targets = view_of(block.targets, 0, block.graphs(), widths.targets.width, at::kFloat);
  return batch;
}

}  // namespace plimsoll
