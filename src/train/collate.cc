#include "train/collate.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/attention.h"

namespace plimsoll {

namespace {

void take_labels(const GraphBlock& block, const CollateOptions& options, Batch& batch) {
  if (!options.node_labels) {
    batch.y = at::empty({block.graphs()}, at::kLong);
    std::copy(block.y.begin(), block.y.end(), batch.y.mutable_data_ptr<int64_t>());
    return;
  }
  if (static_cast<int64_t>(block.node_y.size()) != block.nodes())
    throw InputError("the data set has no column node_y: nodes have no labels to learn");
  const auto labelled =
      std::count_if(block.node_y.begin(), block.node_y.end(), [](int64_t y) { return y >= 0; });
  batch.items = at::empty({labelled}, at::kLong);
  batch.y = at::empty({labelled}, at::kLong);
  int64_t* item = batch.items.mutable_data_ptr<int64_t>();
  int64_t* y = batch.y.mutable_data_ptr<int64_t>();
  for (size_t node = 0; node < block.node_y.size(); ++node) {
    if (block.node_y[node] < 0) continue;
    *item++ = static_cast<int64_t>(node);
    *y++ = block.node_y[node];
  }
}

}  // namespace

Batch collate(const GraphBlock& block, const RowWidths& widths, const CollateOptions& options) {
  const int64_t graphs = block.graphs();
  const int64_t nodes = block.nodes();
  const int64_t edges = block.edge_count();

  Batch batch;
  // from_blob takes no const pointer; nothing writes to these.
  batch.x = at::from_blob(const_cast<float*>(block.x.data()), {nodes, widths.node_features}, at::kFloat);
  batch.edge_attr =
      at::from_blob(const_cast<float*>(block.edge_attr.data()), {edges, widths.edge_features}, at::kFloat);
  batch.graph_ptr = at::from_blob(const_cast<int64_t*>(block.node_ptr.data()), {graphs + 1}, at::kLong);
  if (widths.teacher > 0)
    batch.teacher = at::from_blob(const_cast<float*>(block.teacher.data()),
                                  {widths.teacher_of_nodes ? nodes : graphs, widths.teacher}, at::kFloat);
  take_labels(block, options, batch);
  batch.node_keys = at::empty({3, nodes}, at::kLong);
  batch.graph_item = at::empty({graphs}, at::kLong);
  batch.graph_local = at::zeros({graphs}, at::kLong);

  const at::Tensor edge_index = at::empty({2, edges}, at::kLong);
  int64_t* source = edge_index.mutable_data_ptr<int64_t>();
  int64_t* target = source + edges;
  int64_t* const item = batch.node_keys.mutable_data_ptr<int64_t>();
  int64_t* const local = item + nodes;
  int64_t* const first_edge = local + nodes;
  for (int64_t g = 0; g < graphs; ++g) {
    const auto at = static_cast<size_t>(g);
    const int64_t first = block.node_ptr[at];
    const int64_t count = block.node_ptr[at + 1] - first;
    for (int64_t e = block.edge_ptr[at]; e < block.edge_ptr[at + 1]; ++e) {
      *source++ = first + block.edges[static_cast<size_t>(2 * e)];
      *target++ = first + block.edges[static_cast<size_t>(2 * e + 1)];
    }
    std::fill_n(item + first, count, block.graph[at]);
    std::iota(local + first, local + first + count, int64_t{0});
    std::fill_n(first_edge + first, count, block.edge_ptr[at]);
    batch.graph_item.mutable_data_ptr<int64_t>()[g] = block.graph[at];
  }
  batch.edge_order = edge_order(edge_index, nodes, nodes, /*same_nodes=*/true,
                                /*drop_loops=*/!options.self_loops, batch.graph_ptr);
  return batch;
}

}  // namespace plimsoll
