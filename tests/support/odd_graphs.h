#pragma once

#include <cstdlib>
#include <random>
#include <span>

#include "sample/block/block.h"

namespace plimsoll {

/// Random graphs of labelled nodes with self-loops, repeated edges and hubs. The first feature is an index
/// below 5, and labels of graphs are below 3. A negative size -n makes a graph of n nodes without edges.
class OddGraphs : public BlockSource {
 public:
  static constexpr int64_t kFeatures = 3;

  OddGraphs(uint64_t seed, std::span<const int64_t> sizes) : random_(seed) {
    for (const int64_t nodes : sizes) add(nodes);
  }

  int64_t graphs() const override { return block_.graphs(); }
  int64_t node_features() const override { return kFeatures; }
  int64_t edge_features() const override { return kFeatures; }
  const GraphSetTables& tables() const override { return tables_; }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    block.clear();
    for (const int64_t graph : graphs) {
      const auto g = static_cast<size_t>(graph);
      const auto copy = [](auto& to, const auto& from, int64_t begin, int64_t end) {
        to.insert(to.end(), from.begin() + begin, from.begin() + end);
      };
      copy(block.x, block_.x, kFeatures * block_.node_ptr[g], kFeatures * block_.node_ptr[g + 1]);
      copy(block.node_y, block_.node_y, block_.node_ptr[g], block_.node_ptr[g + 1]);
      copy(block.edges, block_.edges, 2 * block_.edge_ptr[g], 2 * block_.edge_ptr[g + 1]);
      copy(block.edge_attr, block_.edge_attr, kFeatures * block_.edge_ptr[g],
           kFeatures * block_.edge_ptr[g + 1]);
      block.node_ptr.push_back(block.node_ptr.back() + block_.node_ptr[g + 1] - block_.node_ptr[g]);
      block.edge_ptr.push_back(block.edge_ptr.back() + block_.edge_ptr[g + 1] - block_.edge_ptr[g]);
      block.graph.push_back(graph);
      block.y.push_back(block_.y[g]);
    }
  }

  // Returns all graphs as one block.
  const GraphBlock& block() const { return block_; }

 private:
  uint64_t draw(int64_t below) { return random_() % static_cast<uint64_t>(below); }

  // Adds a graph, without edges if `nodes` is negative.
  void add(int64_t nodes) {
    if (block_.node_ptr.empty()) block_.clear();
    const bool none = nodes < 0;
    nodes = std::abs(nodes);
    const auto edges = none ? 0 : static_cast<int64_t>(1 + draw(2 * nodes));
    block_.graph.push_back(graphs());
    block_.node_ptr.push_back(block_.node_ptr.back() + nodes);
    block_.edge_ptr.push_back(block_.edge_ptr.back() + edges);
    for (int64_t n = 0; n < nodes; ++n) {
      for (int64_t f = 0; f < kFeatures; ++f)
        block_.x.push_back(static_cast<float>(f == 0 ? draw(5) : draw(1000)) / (f == 0 ? 1.0F : 1000.0F));
      block_.node_y.push_back(static_cast<int64_t>(draw(4)) - 1);
    }
    const auto hub = static_cast<int64_t>(draw(nodes));
    for (int64_t e = 0; e < edges; ++e) {
      const auto from = static_cast<int32_t>(draw(nodes));
      block_.edges.push_back(from);
      block_.edges.push_back(static_cast<int32_t>(draw(5) == 0 ? hub : draw(9) == 0 ? from : draw(nodes)));
    }
    block_.edge_attr.resize(static_cast<size_t>(block_.edge_ptr.back() * kFeatures), 0.5F);
    block_.y.push_back(static_cast<int64_t>(draw(3)));
  }

  std::mt19937_64 random_;
  GraphBlock block_;
  GraphSetTables tables_;
};

}  // namespace plimsoll
