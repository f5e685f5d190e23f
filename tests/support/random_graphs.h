#pragma once

#include <cstring>
#include <random>

#include "sample/block/block.h"

namespace plimsoll {

/// Small random graphs in the shape of CAN windows: 11 node features, of which the first is an ID below
/// `ids`.
class RandomGraphs : public BlockSource {
 public:
  RandomGraphs(int64_t graphs, int64_t ids, uint32_t seed) {
    std::mt19937 random(seed);
    for (int64_t g = 0; g < graphs; ++g) {
      GraphBlock& graph = graphs_.emplace_back();
      graph.clear();
      const int64_t nodes = g == 3 ? 1 : 2 + random() % 30;
      const int64_t edges = g == 5 ? 0 : random() % 60;
      for (int64_t n = 0; n < nodes; ++n) {
        graph.x.push_back(static_cast<float>(random() % static_cast<uint32_t>(ids)));
        for (int k = 1; k < 11; ++k) graph.x.push_back(static_cast<float>(random() % 1000) / 1000);
      }
      for (int64_t e = 0; e < 2 * edges; ++e)
        graph.edges.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(nodes)));
      graph.edge_attr.resize(static_cast<size_t>(edges * 11), 0.5F);
      graph.node_ptr.push_back(nodes);
      graph.edge_ptr.push_back(edges);
      graph.y.push_back(random() % 2);
    }
  }

  int64_t graphs() const override { return static_cast<int64_t>(graphs_.size()); }
  int64_t node_features() const override { return 11; }
  int64_t edge_features() const override { return 11; }
  const GraphSetTables& tables() const override { return tables_; }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    block.clear();
    for (const int64_t g : graphs) {
      const GraphBlock& graph = graphs_[static_cast<size_t>(g)];
      block.graph.push_back(g);
      block.node_ptr.push_back(block.node_ptr.back() + graph.nodes());
      block.edge_ptr.push_back(block.edge_ptr.back() + graph.edge_count());
      block.x.insert(block.x.end(), graph.x.begin(), graph.x.end());
      block.edges.insert(block.edges.end(), graph.edges.begin(), graph.edges.end());
      block.edge_attr.insert(block.edge_attr.end(), graph.edge_attr.begin(), graph.edge_attr.end());
      block.y.push_back(graph.y[0]);
    }
  }

  /// For tests that damage a graph.
  GraphBlock& graph(int64_t g) { return graphs_[static_cast<size_t>(g)]; }

 private:
  std::vector<GraphBlock> graphs_;
  GraphSetTables tables_;
};

}  // namespace plimsoll
