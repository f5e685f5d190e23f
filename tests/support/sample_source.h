#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "sample/neighbour/sample_shape.h"

namespace plimsoll {

/// Random samples around seeds, in the order of hops, including nodes without neighbours, hops that reach no
/// new node, self-loops and repeated edges. Most seeds have labels below 3; no other node has one. With
/// `pairs`, there are also some pairs of seeds to predict.
class SampleSource : public BlockSource {
 public:
  static constexpr int64_t kFeatures = 5;

  /// A sample has 1 .. max_seeds seeds.
  SampleSource(uint64_t seed, int64_t samples, int64_t hops, int64_t max_seeds, bool pairs = false)
      : random_(seed), hops_(hops) {
    for (int64_t s = 0; s < samples; ++s) {
      samples_.push_back(draw_sample(1 + draw(max_seeds)));
      labels_.emplace_back(static_cast<size_t>(samples_.back().nodes_per_hop.front()));
      for (int64_t& label : labels_.back()) label = draw(4) - 1;
      labels_.back().front() = 1;
      prefixes_.resize(prefixes_.size() + static_cast<size_t>(hops));
      shapes_.push_back(shape_of_sample(batch_of(samples_.back()), labels_.back(),
                                        std::span(prefixes_).last(static_cast<size_t>(hops))));
      if (pairs) shapes_.back().pairs = static_cast<int32_t>(1 + draw(2 * max_seeds));
    }
  }

  int64_t graphs() const override { return static_cast<int64_t>(samples_.size()); }
  int64_t node_features() const override { return kFeatures; }
  int64_t edge_features() const override { return 0; }
  RowWidths widths() const override { return {.node_features = kFeatures, .hops = hops_}; }
  const GraphSetTables& tables() const override { return tables_; }
  std::span<const GraphShape> prefix_shapes() const override { return prefixes_; }
  Vector<GraphShape, Tag::columns> shapes(int) const override { return {shapes_.begin(), shapes_.end()}; }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    block.clear();
    for (const int64_t graph : graphs) append(static_cast<size_t>(graph), block);
  }

  const SampledSubgraph& sample(int64_t graph) const { return samples_[static_cast<size_t>(graph)]; }

 private:
  int64_t draw(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }

  SampledSubgraph draw_sample(int64_t seeds) {
    SampledSubgraph sample;
    sample.node.resize(static_cast<size_t>(seeds));
    sample.nodes_per_hop.push_back(seeds);
    int64_t first = 0;
    for (int64_t hop = 0; hop < hops_; ++hop) {
      const auto end = static_cast<int64_t>(sample.node.size());
      const size_t edges = sample.row.size();
      const bool none = draw(6) == 0;
      for (int64_t node = first; node < end && !none; ++node)
        for (int64_t e = draw(7) == 0 ? 0 : 1 + draw(4); e > 0; --e) {
          const auto nodes = static_cast<int64_t>(sample.node.size());
          const int64_t from = draw(9) == 0 ? node : draw(5) < 2 ? draw(nodes) : nodes;
          if (from == nodes) sample.node.push_back(0);
          sample.row.push_back(from);
          sample.col.push_back(node);
        }
      sample.nodes_per_hop.push_back(static_cast<int64_t>(sample.node.size()) - end);
      sample.edges_per_hop.push_back(static_cast<int64_t>(sample.row.size() - edges));
      first = end;
    }
    return sample;
  }

  void append(size_t graph, GraphBlock& block) const {
    const SampledSubgraph& sample = samples_[graph];
    const size_t nodes = sample.node.size();
    block.graph.push_back(static_cast<int64_t>(graph));
    block.node_ptr.push_back(block.node_ptr.back() + static_cast<int64_t>(nodes));
    block.edge_ptr.push_back(block.edge_ptr.back() + static_cast<int64_t>(sample.row.size()));
    block.y.push_back(0);
    block.node_y.insert(block.node_y.end(), labels_[graph].begin(), labels_[graph].end());
    block.node_y.resize(static_cast<size_t>(block.nodes()), -1);
    append_edges(sample, block.edges);
    append_prefixes(sample, block.prefixes);
    std::mt19937_64 values(graph);
    for (int32_t pair = 0; pair < shapes_[graph].pairs; ++pair) {
      for (int end = 0; end < 2; ++end)
        block.pairs.push_back(static_cast<int32_t>(values() % labels_[graph].size()));
      block.pair_y.push_back(static_cast<float>(pair % 2));
    }
    for (size_t i = 0; i < nodes * kFeatures; ++i)
      block.x.push_back(static_cast<float>(values() % 2000) / 1000.0F - 1.0F);
  }

  std::mt19937_64 random_;
  int64_t hops_;
  std::vector<SampledSubgraph> samples_;
  std::vector<std::vector<int64_t>> labels_;
  std::vector<GraphShape> shapes_, prefixes_;
  GraphSetTables tables_;
};

}  // namespace plimsoll
