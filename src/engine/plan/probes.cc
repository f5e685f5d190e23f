#include "engine/plan/probes.h"

#include <algorithm>
#include <random>

#include "engine/blocks/item_kind.h"
#include "engine/blocks/order_terms.h"
#include "sample/block/batches.h"

namespace plimsoll {
namespace {

class ProbeMaker {
 public:
  ProbeMaker(const RowWidths& widths, const CollateOptions& options) : widths_(widths), options_(options) {}

  // Adds a block of graphs with these numbers of nodes. Each graph has items and `edges` edges,
  // `loops` of which are self-loops. Only sizes matter: features are zeros.
  void add(const std::vector<int64_t>& nodes, int64_t edges, int64_t loops) {
    GraphBlock block;
    block.clear();
    for (const int64_t count : nodes) {
      block.graph.push_back(block.graphs());
      block.node_ptr.push_back(block.nodes() + count);
      block.edge_ptr.push_back(block.edge_count() + edges);
      block.y.push_back(0);
      for (int64_t e = 0; e < edges; ++e) {
        const auto source = static_cast<int32_t>(draw(count));
        block.edges.push_back(source);
        block.edges.push_back(e < loops ? source
                                        : static_cast<int32_t>((source + 1 + draw(count - 1)) % count));
      }
    }
    block.x.resize(static_cast<size_t>(block.nodes() * widths_.node_features), 0.0F);
    if (widths_.row_places) block.row_place.resize(static_cast<size_t>(block.nodes()), -1);
    block.edge_attr.resize(static_cast<size_t>(block.edge_count() * widths_.edge_features), 0.0F);
    block.teacher.resize(static_cast<size_t>(widths_.teacher.numbers(block.graphs(), block.nodes())), 0.0F);
    block.targets.resize(static_cast<size_t>(widths_.targets.numbers(block.graphs(), block.nodes())), 0.0F);
    block.pos.resize(static_cast<size_t>(block.nodes() * widths_.coordinates), 0.0F);
    const GraphList graphs(block.graph.begin(), block.graph.end());
    auto shapes = shapes_of(block);
    for (size_t g = 0; g < shapes.size(); ++g)
      item_kind(options_.items)
          .add_to_probe(block, shapes[g], block.node_ptr[g], shapes[g].nodes,
                        [this](int64_t below) { return draw(below); });
    probes.push_back({std::move(block), terms_of(graphs, {shapes}, options_)});
  }

  int64_t draw(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(std::max<int64_t>(below, 1)));
  }

  std::vector<Probe> probes;

 private:
  RowWidths widths_;
  CollateOptions options_;
  std::mt19937_64 random_{7};
};

constexpr int64_t kPiece = OrderTerms::kPieceNodes;
constexpr int64_t kMaxPiece = OrderTerms::kMaxPieceNodes;

}  // namespace

std::vector<Probe> make_probes(const Terms& highest, bool closed, const RowWidths& widths,
                               const CollateOptions& options) {
  ProbeMaker maker(widths, options);
  if (!closed) {
    for (int64_t i = 0; i < 12; ++i) {
      std::vector<int64_t> nodes{kMaxPiece + 1 + 37 * i + (i % 4) * 1024};
      for (int64_t more = i % 3; more > 0; --more) nodes.push_back(2 + maker.draw(5));
      maker.add(nodes, 3 + maker.draw(40), maker.draw(3));
    }
    return std::move(maker.probes);
  }
  for (int64_t i = 0; i < 12; ++i) {
    std::vector<int64_t> nodes;
    for (int64_t g = 0; g < 2 + i % 4; ++g) nodes.push_back(2 + maker.draw(6));
    const int64_t loops = maker.draw(3);
    maker.add(nodes, loops + 1 + maker.draw(5), loops);
  }
  // Cases that only larger blocks have: several pieces, groups of pieces, and chunks of graphs.
  if (highest[kNodes] > kPiece)
    for (int64_t i = 0; i < 3; ++i) maker.add({kPiece + 1 + 3 * i, 2 + maker.draw(5)}, 3 + maker.draw(5), 1);
  if (highest[kGroups] > 1)
    for (int64_t i = 0; i < 2; ++i) maker.add(std::vector<int64_t>(8, kPiece + i), 2 + i, i);
  if (highest[kSegmentGroups] > 1)
    for (int64_t i = 0; i < 2; ++i)
      maker.add(std::vector<int64_t>(static_cast<size_t>(OrderTerms::kSegmentGrain + 1 + i), 2), 1 + i, i);
  return std::move(maker.probes);
}

}  // namespace plimsoll
