#include "engine/blocks/collate_reached.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/blocks/collate_types.h"
#include "ops/attention/attention.h"

namespace plimsoll {
namespace {

// Returns the (source, target) pairs of each edge type of a block.
std::vector<std::span<const int32_t>> pairs_of(const GraphBlock& block, const SampleLayout& layout) {
  std::vector<std::span<const int32_t>> pairs;
  std::span<const int32_t> rest(block.edges);
  for (const SampleLayout::Edges& type : layout.edges) {
    const int64_t edges = layout.within(type, layout.hops, std::span<const int64_t>(block.parts));
    pairs.push_back(rest.first(static_cast<size_t>(2 * edges)));
    rest = rest.subspan(static_cast<size_t>(2 * edges));
  }
  return pairs;
}

// Writes the edges of a type so that they lead from their targets to their sources.
void write_reversed(std::span<const int32_t> pairs, const at::Tensor& index) {
  int64_t* const from = index.mutable_data_ptr<int64_t>();
  int64_t* const to = from + index.size(1);
  for (size_t e = 0; e < pairs.size() / 2; ++e) {
    to[e] = pairs[2 * e];
    from[e] = pairs[2 * e + 1];
  }
}

// Writes log(1 + number of edges from each node) into a column.
void write_counts(std::span<const int32_t> pairs, int64_t column, const at::Tensor& counts) {
  const at::Tensor rows = counts.select(1, column);
  rows.zero_();
  float* const count = rows.mutable_data_ptr<float>();
  const int64_t stride = rows.stride(0);
  for (size_t e = 0; e < pairs.size(); e += 2) ++count[pairs[e] * stride];
  for (int64_t row = 0; row < rows.size(0); ++row) count[row * stride] = std::log1p(count[row * stride]);
}

}  // namespace

void collate_reached(const GraphBlock& block, const SampleLayout& layout, TypedBatch& batch) {
  // from_blob() accepts no const pointer; nothing writes to the tensor.
  batch.reached =
      at::from_blob(const_cast<int64_t*>(block.reached.data()), {std::ssize(block.reached)}, at::kLong);
  const auto pairs = pairs_of(block, layout);
  add_reached(
      layout, block.parts, at::kLong,
      [&](size_t type, const at::Tensor& index) { write_reversed(pairs[type], index); }, batch);
  int64_t column = 0;
  for (size_t type = 0; type < layout.edges.size(); ++type)
    if (layout.leads_from_destinations(layout.edges[type]))
      write_counts(pairs[type], column++, batch.reached_counts);
}

// Sources are within all hops of the seeds, and targets within one hop less.
void add_reached(const SampleLayout& layout, std::span<const int64_t> counts,
                 const at::TensorOptions& options,
                 const std::function<void(size_t edge_type, const at::Tensor& index)>& fill,
                 TypedBatch& batch) {
  const int64_t rows = layout.within(layout.nodes[*layout.destinations], layout.hops, counts);
  const int64_t columns = std::ranges::count_if(
      layout.edges, [&](const SampleLayout::Edges& type) { return layout.leads_from_destinations(type); });
  batch.reached_counts = at::empty({rows, columns}, options.dtype(at::kFloat));
  batch.reached_orders.assign(layout.edges.size(), at::Tensor());
  for (size_t e = 0; e < layout.edges.size(); ++e) {
    const SampleLayout::Edges& type = layout.edges[e];
    if (!layout.leads_from_destinations(type)) continue;
    const int64_t edges = layout.within(type, layout.hops, counts);
    const at::Tensor index = empty_edge_index(edges, options);
    fill(e, index);
    batch.reached_orders[e] = edge_order(index.narrow(1, 0, edges),
                                         layout.within(layout.nodes[type.target], layout.hops - 1, counts),
                                         rows, /*same_nodes=*/false, /*drop_loops=*/false);
  }
}

}  // namespace plimsoll
