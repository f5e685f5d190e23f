#include "engine/blocks/item_kind.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "engine/blocks/block_terms.h"

namespace plimsoll {
namespace {

int64_t graph_of_node(int64_t node, const GraphBlock& block) {
  return std::ranges::upper_bound(block.node_ptr, node) - block.node_ptr.begin() - 1;
}

at::TensorOptions without_data(at::ScalarType dtype) {
  return at::TensorOptions(c10::DeviceType::Meta).dtype(dtype);
}

// Items that are graphs, each with its class.
class GraphItems final : public ItemKind {
 public:
  int64_t count(const GraphShape&) const override { return 1; }
  int64_t count(const Terms& terms) const override { return terms[kGraphs]; }
  void collate(const GraphBlock& block, Batch& batch) const override {
    batch.item_count = block.graphs();
    batch.y = at::empty({block.graphs()}, at::kLong);
    std::ranges::copy(block.y, batch.y.mutable_data_ptr<int64_t>());
  }
  void collate_without_data(const Terms& terms, Batch& batch) const override {
    batch.item_count = terms[kGraphs];
    batch.y = at::empty({batch.item_count}, without_data(at::kLong));
  }
  int64_t graph_of(int64_t item, const GraphBlock&, const Batch&) const override { return item; }
};

// Items that are the nodes with a class.
class LabelledNodeItems final : public ItemKind {
 public:
  int64_t count(const GraphShape& shape) const override { return shape.labelled_nodes; }
  int64_t count(const Terms& terms) const override { return terms[kItems]; }
  bool has_term() const override { return true; }
  int64_t max(const Terms& highest) const override { return highest[kNodes]; }
  void collate(const GraphBlock& block, Batch& batch) const override {
    if (static_cast<int64_t>(block.node_y.size()) != block.nodes())
      throw InputError("the data set has no column node_y, so nodes have no labels to learn");
    batch.item_count = std::ranges::count_if(block.node_y, [](int64_t y) { return y >= 0; });
    batch.items = at::empty({batch.item_count}, at::kLong);
    batch.y = at::empty({batch.item_count}, at::kLong);
    int64_t* item = batch.items.mutable_data_ptr<int64_t>();
    int64_t* y = batch.y.mutable_data_ptr<int64_t>();
    for (size_t node = 0; node < block.node_y.size(); ++node) {
      if (block.node_y[node] < 0) continue;
      *item++ = static_cast<int64_t>(node);
      *y++ = block.node_y[node];
    }
  }
  void collate_without_data(const Terms& terms, Batch& batch) const override {
    batch.item_count = terms[kItems];
    batch.items = at::empty({batch.item_count}, without_data(at::kLong));
    batch.y = at::empty({batch.item_count}, without_data(at::kLong));
  }
  // The first node always has a class, so that no block is without items.
  void add_to_probe(GraphBlock& block, GraphShape& shape, int64_t first, int64_t nodes,
                    const Draw& draw) const override {
    block.node_y.resize(static_cast<size_t>(block.nodes()), -1);
    shape.labelled_nodes = 0;
    for (int64_t node = first; node < first + nodes; ++node) {
      if (node > first && draw(3) == 0) continue;
      block.node_y[static_cast<size_t>(node)] = 0;
      ++shape.labelled_nodes;
    }
  }
  int64_t graph_of(int64_t item, const GraphBlock& block, const Batch& batch) const override {
    return graph_of_node(batch.items.const_data_ptr<int64_t>()[item], block);
  }
};

// Items that are all nodes.
class NodeItems final : public ItemKind {
 public:
  int64_t count(const GraphShape& shape) const override { return shape.nodes; }
  int64_t count(const Terms& terms) const override { return terms[kNodes]; }
  void collate(const GraphBlock& block, Batch& batch) const override { batch.item_count = block.nodes(); }
  void collate_without_data(const Terms& terms, Batch& batch) const override {
    batch.item_count = terms[kNodes];
  }
  int64_t graph_of(int64_t item, const GraphBlock& block, const Batch&) const override {
    return graph_of_node(item, block);
  }
};

// Items that are given pairs of nodes, labelled 1 if the pair has an edge and 0 if not.
class PairItems final : public ItemKind {
 public:
  int64_t count(const GraphShape& shape) const override { return shape.pairs; }
  int64_t count(const Terms& terms) const override { return terms[kItems]; }
  bool has_term() const override { return true; }
  int64_t max(const Terms&) const override { return std::numeric_limits<int64_t>::max(); }
  int64_t pairs(const Terms& terms) const override { return terms[kItems]; }
  void collate(const GraphBlock& block, Batch& batch) const override {
    const auto pairs = static_cast<int64_t>(block.pair_y.size());
    batch.item_count = pairs;
    batch.pairs = at::empty({2, pairs}, at::kLong);
    batch.y = at::empty({pairs}, at::kFloat);
    auto* const first = batch.pairs.mutable_data_ptr<int64_t>();
    for (size_t i = 0; i < block.pairs.size(); ++i)
      first[static_cast<int64_t>(i % 2) * pairs + static_cast<int64_t>(i / 2)] = block.pairs[i];
    std::ranges::copy(block.pair_y, batch.y.mutable_data_ptr<float>());
  }
  void collate_without_data(const Terms& terms, Batch& batch) const override {
    batch.item_count = terms[kItems];
    batch.pairs = at::empty({2, batch.item_count}, without_data(at::kLong));
    batch.y = at::empty({batch.item_count}, without_data(at::kFloat));
  }
  void add_to_probe(GraphBlock& block, GraphShape& shape, int64_t first, int64_t nodes,
                    const Draw& draw) const override {
    shape.pairs = static_cast<int32_t>(1 + draw(6));
    for (int32_t end = 0; end < 2 * shape.pairs; ++end)
      block.pairs.push_back(static_cast<int32_t>(first + draw(nodes)));
    block.pair_y.resize(block.pairs.size() / 2, 0.0F);
  }
  int64_t graph_of(int64_t item, const GraphBlock& block, const Batch& batch) const override {
    return graph_of_node(batch.pairs.const_data_ptr<int64_t>()[item], block);
  }
};

}  // namespace

const ItemKind& item_kind(Items items) {
  static const GraphItems graphs;
  static const LabelledNodeItems labelled_nodes;
  static const NodeItems nodes;
  static const PairItems pairs;
  switch (items) {
    case Items::labelled_nodes:
      return labelled_nodes;
    case Items::nodes:
      return nodes;
    case Items::pairs:
      return pairs;
    default:
      return graphs;
  }
}

}  // namespace plimsoll
