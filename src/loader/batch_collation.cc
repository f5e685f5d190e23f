#include "loader/batch_collation.h"

#include <algorithm>

#include "loader/graph_rows.h"

namespace plimsoll {
namespace {

// Copies `count` rows of a column, starting at `first`, and advances `to`.
template <typename T>
void copy_rows(std::span<const T> column, int64_t first, int64_t count, int64_t width, T*& to) {
  if (to == nullptr) return;
  const T* const from = column.data() + first * width;
  to = std::copy(from, from + count * width, to);
}

// Writes the sources and targets of a graph's edges. The graph's first node has index `offset` in the batch.
// Returns whether all sources and targets are nodes of the graph.
bool copy_edges(const int32_t* pairs, int64_t edges, int64_t nodes, int64_t offset, int64_t* sources,
                int64_t* targets) {
  const auto limit = static_cast<uint64_t>(nodes);
  bool outside = false;
  for (int64_t e = 0; e < edges; ++e) {
    const int64_t source = pairs[2 * e];
    const int64_t target = pairs[2 * e + 1];
    outside |= static_cast<uint64_t>(source) >= limit || static_cast<uint64_t>(target) >= limit;
    sources[e] = source + offset;
    targets[e] = target + offset;
  }
  return !outside;
}

}  // namespace

CollatedBatch collate(const GraphSetView& set, const BatchFields& fields, std::span<const int64_t> graphs,
                      BatchMemory& memory) {
  CollatedBatch batch;
  BatchCounts& counts = batch.counts;
  for (const int64_t graph : graphs) {
    const GraphRows rows = rows_of(set, graph);
    ++counts.graphs;
    counts.nodes += rows.nodes;
    counts.edges += rows.edges;
  }
  std::vector<int64_t> bytes;
  bytes.reserve(kBatchFields);
  for (int field = 0; field < kBatchFields; ++field)
    bytes.push_back(fields.bytes(static_cast<BatchField>(field), counts));
  batch.tensors = memory.take(bytes);

  const auto begin = [&]<typename T>(BatchField field, T* /*type*/) {
    return fields.has(field) ? batch[field].as<T>() : nullptr;
  };
  constexpr float* kFloats = nullptr;
  constexpr int64_t* kNumbers = nullptr;
  float* x = begin(BatchField::x, kFloats);
  float* edge_attr = begin(BatchField::edge_attr, kFloats);
  int64_t* edge_index = begin(BatchField::edge_index, kNumbers);
  float* pos = begin(BatchField::pos, kFloats);
  const TargetWidths& targets = set.targets();
  float* target = targets.graph > 0 ? begin(BatchField::y, kFloats) : nullptr;
  float* node_target = targets.node > 0 ? begin(BatchField::node_y, kFloats) : nullptr;
  int64_t* y = targets.graph > 0 ? nullptr : begin(BatchField::y, kNumbers);
  int64_t* node_y = targets.node > 0 ? nullptr : begin(BatchField::node_y, kNumbers);
  int64_t* of_node = begin(BatchField::batch, kNumbers);
  int64_t* ptr = begin(BatchField::ptr, kNumbers);
  int64_t* edge_ptr = begin(BatchField::edge_ptr, kNumbers);
  const GraphSpans& all = set.graphs();
  int64_t nodes = 0;
  int64_t edges = 0;
  *ptr++ = 0;
  *edge_ptr++ = 0;
  for (size_t i = 0; i < graphs.size(); ++i) {
    const int64_t graph = graphs[i];
    const GraphRows rows = rows_of(set, graph);
    copy_rows(all.x, rows.node, rows.nodes, set.node_features(), x);
    copy_rows(all.edge_attr, rows.edge, rows.edges, set.edge_features(), edge_attr);
    copy_rows(all.pos, rows.node, rows.nodes, kCoordinates, pos);
    copy_rows(all.node_y, rows.node, rows.nodes, 1, node_y);
    copy_rows(all.node_target, rows.node, rows.nodes, targets.node, node_target);
    copy_rows(all.y, graph, 1, 1, y);
    copy_rows(all.target, graph, 1, targets.graph, target);
    if (edge_index != nullptr && !copy_edges(all.edges.data() + 2 * rows.edge, rows.edges, rows.nodes, nodes,
                                             edge_index + edges, edge_index + counts.edges + edges))
      throw damaged_graph(set, graph);
    of_node = std::fill_n(of_node, rows.nodes, static_cast<int64_t>(i));
    *ptr++ = nodes += rows.nodes;
    *edge_ptr++ = edges += rows.edges;
  }
  return batch;
}

CollatedBatch CollatedBatches::make(int64_t batch) {
  return collate(*set_, fields_, list_[batch], *memory_);
}

}  // namespace plimsoll
