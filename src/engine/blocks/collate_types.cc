#include "engine/blocks/collate_types.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "engine/blocks/collate_reached.h"
#include "engine/blocks/item_kind.h"
#include "ops/attention/attention.h"

namespace plimsoll {
namespace {

// from_blob() accepts no const pointer; nothing writes to these tensors.
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
  }
}

// Returns the sources and targets of the edges of a type. The first pair of the type is at `pairs`.
at::Tensor edge_index_of(const int32_t* pairs, int64_t edges) {
  at::Tensor index = empty_edge_index(edges, at::kLong);
  int64_t* const source = index.mutable_data_ptr<int64_t>();
  int64_t* const target = source + index.size(1);
  for (int64_t e = 0; e < edges; ++e) {
    source[e] = pairs[2 * e];
    target[e] = pairs[2 * e + 1];
  }
  return index;
}

}  // namespace

Batch collate_types(const GraphBlock& block, const RowWidths& widths, const CollateOptions& options) {
  Batch batch;
  const SampleLayout& layout = *widths.layout;
  add_nodes(block, layout, batch.types);
  count_nodes(layout, block.parts, batch.types);
  const int32_t* pairs = block.edges.data();
  add_orders(
      layout, block.parts,
      [&](size_t, int64_t edges) { return edge_index_of(std::exchange(pairs, pairs + 2 * edges), edges); },
      batch.types);
  if (layout.destinations) collate_reached(block, layout, batch.types);
  item_kind(options.items).collate(block, batch);
  batch.graph_item = at::empty({block.graphs()}, at::kLong);
  std::ranges::copy(block.graph, batch.graph_item.mutable_data_ptr<int64_t>());
  if (widths.targets.width > 0)
    batch.targets = view_of(block.targets, 0, block.graphs(), widths.targets.width, at::kFloat);
  return batch;
}

at::Tensor empty_edge_index(int64_t edges, const at::TensorOptions& options) {
  return at::empty({2, edges + 1}, options);
}

void count_nodes(const SampleLayout& layout, std::span<const int64_t> counts, TypedBatch& batch) {
  for (const SampleLayout::Nodes& type : layout.nodes) {
    std::vector<int64_t>& within = batch.nodes.emplace_back();
    for (size_t hop = 0; hop <= layout.hops; ++hop) within.push_back(layout.within(type, hop, counts));
  }
}

// Layer l computes the nodes within hops - 1 - l hops of the seeds.
void add_orders(const SampleLayout& layout, std::span<const int64_t> counts,
                const std::function<at::Tensor(size_t edge_type, int64_t edges)>& edge_index,
                TypedBatch& batch) {
  batch.orders.assign(layout.hops, std::vector<at::Tensor>(layout.edges.size()));
  for (size_t e = 0; e < layout.edges.size(); ++e) {
    const SampleLayout::Edges& type = layout.edges[e];
    const at::Tensor index = edge_index(e, layout.within(type, layout.hops, counts));
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

}  // namespace plimsoll
