#include "engine/plan/typed_probes.h"

#include <algorithm>
#include <random>

#include "sample/typed/sample_layout.h"

namespace plimsoll {
namespace {

class TypedProbeMaker {
 public:
  explicit TypedProbeMaker(const RowWidths& widths) : widths_(widths), layout_(*widths.layout) {}

  // Makes a block with a few seeds, nodes and edges. Only sizes matter: numbers and codes are zeros.
  Probe make() {
    GraphBlock block;
    block.clear();
    block.parts.assign(layout_.counts, 0);
    const int64_t seeds = 2 + draw(6);
    for (const SampleLayout::Nodes& type : layout_.nodes) add_nodes(type, seeds, block);
    layout_.add_padding(block.parts);
    for (const SampleLayout::Edges& type : layout_.edges) add_edges(type, block);
    for (int64_t g = 0; g < seeds; ++g) {
      block.graph.push_back(g);
      block.node_ptr.push_back(nodes_of(block));
      block.edge_ptr.push_back(std::ssize(block.edges) / 2);
      block.y.push_back(0);
    }
    block.targets.resize(static_cast<size_t>(widths_.targets.numbers(seeds, 0)), 0.0F);
    BlockTerms terms = terms_of_probe(block);
    return {std::move(block), std::move(terms)};
  }

 private:
  void add_nodes(const SampleLayout::Nodes& type, int64_t seeds, GraphBlock& block) {
    int64_t nodes = 0;
    for (size_t hop = type.first_hop; hop <= layout_.hops; ++hop) {
      nodes += hop == 0 ? seeds : draw(7);
      block.parts[type.first_count + hop - type.first_hop] = nodes;
    }
    nodes += layout_.padding(type);
    block.x.resize(block.x.size() + static_cast<size_t>(nodes * type.numbers), 0.0F);
    block.codes.resize(block.codes.size() + static_cast<size_t>(nodes * type.codes()), 0);
    if (layout_.destinations && &type == &layout_.nodes[*layout_.destinations])
      block.reached.assign(static_cast<size_t>(nodes), 0);
  }

  // Edges lead to nodes of the previous hop or of an earlier one.
  void add_edges(const SampleLayout::Edges& type, GraphBlock& block) {
    const std::span<const int64_t> counts(block.parts);
    int64_t edges = 0;
    for (size_t hop = type.first_hop; hop <= layout_.hops; ++hop) {
      const int64_t more = draw(9);
      for (int64_t e = 0; e < more; ++e) {
        block.edges.push_back(
            static_cast<int32_t>(draw(layout_.within(layout_.nodes[type.source], hop, counts))));
        block.edges.push_back(
            static_cast<int32_t>(draw(layout_.within(layout_.nodes[type.target], hop - 1, counts))));
      }
      block.parts[type.first_count + hop - type.first_hop] = edges += more;
    }
  }

  int64_t nodes_of(const GraphBlock& block) const {
    int64_t nodes = 0;
    for (const SampleLayout::Nodes& type : layout_.nodes)
      nodes += layout_.within(type, layout_.hops, std::span<const int64_t>(block.parts));
    return nodes;
  }

  // The counts of all nodes and edges are assigned to the first graph. Counts of graphs do not include
  // padding.
  BlockTerms terms_of_probe(const GraphBlock& block) const {
    std::vector<GraphShape> shapes(block.graph.size());
    std::vector<int64_t> padding(block.parts.size(), 0);
    layout_.add_padding(padding);
    std::vector<int32_t> parts(block.graph.size() * block.parts.size(), 0);
    std::ranges::transform(block.parts, padding, parts.begin(), [](int64_t count, int64_t padded) {
      return static_cast<int32_t>(count - padded);
    });
    shapes[0].nodes = static_cast<int32_t>(block.nodes() - layout_.padding());
    shapes[0].edges = static_cast<int32_t>(block.edge_count());
    return terms_of(block.graph, {.graphs = shapes, .parts = parts}, {});
  }

  int64_t draw(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(std::max<int64_t>(below, 1)));
  }

  const RowWidths& widths_;
  const SampleLayout& layout_;
  std::mt19937_64 random_{7};
};

}  // namespace

void visit_typed_probes(const RowWidths& widths, const std::function<void(const Probe&)>& probe) {
  TypedProbeMaker maker(widths);
  const size_t probes = 12 + kTerms + widths.layout->counts;
  for (size_t i = 0; i < probes; ++i) probe(maker.make());
}

}  // namespace plimsoll
