#include "engine/plan/sample_probes.h"

#include <algorithm>
#include <random>

#include "engine/blocks/item_kind.h"
#include "engine/blocks/order_terms.h"
#include "sample/neighbour/sample_shape.h"

namespace plimsoll {
namespace {

// Number of rows in a chunk, and maximum number of chunks of a probe. The maximum is sufficient to
// distinguish chunks from parts.
constexpr int64_t kChunk = OrderTerms::kChunkRows;
constexpr int64_t kMaxChunks = 3;

class SampleMaker {
 public:
  SampleMaker(size_t hops, const RowWidths& widths, const CollateOptions& options)
      : hops_(hops), widths_(widths), options_(options) {}

  // Makes a sample with a few nodes and edges per hop, and `more` further nodes in hop `large`. Only sizes
  // matter: features are zeros.
  Probe make(size_t large, int64_t more) {
    SampledSubgraph sample;
    const auto add_nodes = [&](size_t hop) {
      const int64_t count = 2 + draw(6) + (hop == large ? more : 0);
      sample.nodes_per_hop.push_back(count);
      sample.node.resize(sample.node.size() + static_cast<size_t>(count));
    };
    add_nodes(0);
    int64_t first = 0;
    for (size_t hop = 0; hop < hops_; ++hop) {
      const auto end = static_cast<int64_t>(sample.node.size());
      add_nodes(hop + 1);
      add_edges(first, end, sample);
      first = end;
    }
    return probe_of(sample);
  }

 private:
  // Adds edges into some of the nodes first .. end-1, in their order: a few per node, so that the maximum per
  // node varies.
  void add_edges(int64_t first, int64_t end, SampledSubgraph& sample) {
    const size_t before = sample.row.size();
    for (int64_t target = first; target < std::min(end, first + 3); ++target) {
      const int64_t loops = draw(2);
      for (int64_t e = loops + draw(5); e >= 0; --e) {
        const int64_t other = draw(static_cast<int64_t>(sample.node.size()));
        sample.col.push_back(target);
        sample.row.push_back(e < loops ? target : other == target ? target + 1 : other);
      }
    }
    sample.edges_per_hop.push_back(static_cast<int64_t>(sample.row.size() - before));
  }

  Probe probe_of(const SampledSubgraph& sample) {
    GraphBlock block;
    block.clear();
    block.graph.push_back(0);
    block.node_ptr.push_back(static_cast<int64_t>(sample.node.size()));
    block.edge_ptr.push_back(static_cast<int64_t>(sample.row.size()));
    block.y.push_back(0);
    append_edges(sample, block.edges);
    append_prefixes(sample, block.prefixes);
    block.x.resize(static_cast<size_t>(block.nodes() * widths_.node_features), 0.0F);
    block.targets.resize(static_cast<size_t>(widths_.targets.numbers(1, block.nodes())), 0.0F);
    if (widths_.row_places) block.row_place.resize(static_cast<size_t>(block.nodes()), -1);
    block.edge_attr.resize(static_cast<size_t>(block.edge_count() * widths_.edge_features), 0.0F);
    const auto seeds = static_cast<size_t>(sample.nodes_per_hop.front());
    block.node_y.resize(static_cast<size_t>(block.nodes()), -1);
    std::vector<GraphShape> prefixes(hops_);
    GraphShape shape = shape_of_sample(batch_of(sample), std::span(block.node_y).first(seeds), prefixes);
    // Only seeds have labels, and pairs consist of seeds.
    item_kind(options_.items)
        .add_to_probe(block, shape, 0, sample.nodes_per_hop.front(),
                      [this](int64_t below) { return draw(below); });
    const int64_t graph = 0;
    BlockTerms terms = terms_of(std::span(&graph, 1), {std::span(&shape, 1), prefixes}, options_);
    return {std::move(block), std::move(terms)};
  }

  int64_t draw(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(std::max<int64_t>(below, 1)));
  }

  size_t hops_;
  RowWidths widths_;
  CollateOptions options_;
  std::mt19937_64 random_{7};
};

}  // namespace

void visit_sample_probes(const Terms& highest, const RowWidths& widths, const CollateOptions& options,
                         const std::function<void(const Probe&)>& probe) {
  const size_t hops = prefixes_in(highest);
  SampleMaker maker(hops, widths, options);
  const size_t small = 12 + kPrefixTerms * hops;
  for (size_t i = 0; i < small; ++i) probe(maker.make(0, 0));
  // Cases that only larger blocks have: several chunks of nodes, and parts.
  for (size_t hop = 0; hop <= hops; ++hop) {
    const int64_t max = highest[hop < hops ? place_of(hop, kPrefixNodes) : size_t{kNodes}];
    for (int64_t chunks = 1; chunks <= std::min(kMaxChunks, max / kChunk); ++chunks)
      for (int64_t i = 0; i < 2; ++i) probe(maker.make(hop, chunks * kChunk));
  }
}

}  // namespace plimsoll
