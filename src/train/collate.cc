#include "train/collate.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>

namespace plimsoll {

Batch collate(const GraphBlock& block, int64_t node_features) {
  const int64_t graphs = block.graphs();
  const int64_t nodes = block.nodes();
  int64_t kept = 0;  // edges that are no self-loops
  for (int64_t e = 0; e < block.edge_count(); ++e)
    kept += block.edges[static_cast<size_t>(2 * e)] != block.edges[static_cast<size_t>(2 * e + 1)];

  Batch batch;
  // from_blob takes no const pointer; nothing writes to x.
  batch.x = at::from_blob(const_cast<float*>(block.x.data()), {nodes, node_features}, at::kFloat);
  batch.source = at::empty({kept + nodes}, at::kLong);
  batch.target = at::empty({kept + nodes}, at::kLong);
  batch.node_graph = at::empty({nodes}, at::kLong);
  batch.graph_nodes = at::empty({graphs, 1}, at::kFloat);
  batch.y = at::empty({graphs}, at::kLong);
  batch.node_item = at::empty({nodes}, at::kLong);
  batch.node_local = at::empty({nodes}, at::kLong);
  batch.graph_item = at::empty({graphs}, at::kLong);
  batch.graph_local = at::zeros({graphs}, at::kLong);

  int64_t* source = batch.source.mutable_data_ptr<int64_t>();
  int64_t* target = batch.target.mutable_data_ptr<int64_t>();
  for (int64_t g = 0; g < graphs; ++g) {
    const auto at = static_cast<size_t>(g);
    const int64_t first = block.node_ptr[at];
    const int64_t count = block.node_ptr[at + 1] - first;
    for (int64_t e = block.edge_ptr[at]; e < block.edge_ptr[at + 1]; ++e) {
      const int32_t from = block.edges[static_cast<size_t>(2 * e)];
      const int32_t to = block.edges[static_cast<size_t>(2 * e + 1)];
      if (from == to) continue;
      *source++ = first + from;
      *target++ = first + to;
    }
    std::fill_n(batch.node_graph.mutable_data_ptr<int64_t>() + first, count, g);
    std::fill_n(batch.node_item.mutable_data_ptr<int64_t>() + first, count, block.graph[at]);
    std::iota(batch.node_local.mutable_data_ptr<int64_t>() + first,
              batch.node_local.mutable_data_ptr<int64_t>() + first + count, int64_t{0});
    batch.graph_nodes.mutable_data_ptr<float>()[g] = static_cast<float>(std::max<int64_t>(count, 1));
    batch.y.mutable_data_ptr<int64_t>()[g] = block.y[at];
    batch.graph_item.mutable_data_ptr<int64_t>()[g] = block.graph[at];
  }
  std::iota(source, source + nodes, int64_t{0});
  std::iota(target, target + nodes, int64_t{0});
  return batch;
}

}  // namespace plimsoll
