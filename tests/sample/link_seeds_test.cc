#include "sample/seeds/link_seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sample/neighbour/neighbour_source.h"
#include "support/errors.h"
#include "support/link_graph.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using Pair = std::pair<int64_t, int64_t>;  // Neighbour and node.

// An undirected graph whose pairs u < v are split: every fifth is for validation, the next for testing; both
// are left out of the rows.
class LinkSeedsTest : public testing::Test {
 protected:
  static constexpr int64_t kNegatives = 2;

  LinkSeedsTest() : all_(undirected_graph(300, 4)) {
    GraphWriter writer(folder_ / "graph", true);
    std::array<std::vector<int64_t>, kGraphSplits.size()> edges;
    std::vector<float> x;
    int64_t end = 0;
    for (int64_t v = 0; v < all_.nodes(); ++v) {
      std::vector<uint32_t> row;
      for (int64_t e = all_.indptr[static_cast<size_t>(v)]; e < all_.indptr[static_cast<size_t>(v) + 1];
           ++e) {
        const int64_t u = all_.indices[static_cast<size_t>(e)];
        const int64_t kind = (std::min(u, v) * 31 + std::max(u, v)) % 5;
        const size_t split = kind < 2 ? static_cast<size_t>(1 + kind) : 0;
        if (u < v) edges[split].insert(edges[split].end(), {u, v});
        if (split == 0) row.push_back(static_cast<uint32_t>(u));
      }
      end += static_cast<int64_t>(row.size());
      writer.append_row_ends(std::span(&end, 1));
      writer.append_indices(std::span<const uint32_t>(row));
      x.insert(x.end(), {static_cast<float>(v), 0});
    }
    writer.append_x(x, 2);
    for (size_t s = 0; s < edges.size(); ++s) writer.append_split_edges(s, edges[s]);
    writer.publish({}, make_provenance("made up", {}));
  }

  NeighbourSource open(int64_t block_seeds = 16, uint64_t seed = 5, bool exclude_targets = false) const {
    return {folder_ / "graph",
            {.neighbours = {.fan_outs = {4, 3}},
             .blocks = {.epochs = 2, .batch_size = 64, .block_seeds = block_seeds, .seed = seed},
             .seed = seed,
             .negatives = kNegatives,
             .exclude_targets = exclude_targets}};
  }
  // The pairs of a block, as nodes of the graph; edges first.
  static std::vector<Pair> pairs_of(const GraphBlock& block) {
    std::vector<Pair> pairs;
    for (size_t i = 0; i < block.pairs.size(); i += 2)
      pairs.emplace_back(block.x[static_cast<size_t>(2 * block.pairs[i])],
                         block.x[static_cast<size_t>(2 * block.pairs[i + 1])]);
    return pairs;
  }
  static GraphBlock read(const NeighbourSource& source, int64_t number) {
    GraphBlock block;
    source.read(std::span(&number, 1), block);
    return block;
  }

  TempFolder folder_;
  GiantGraph all_;
};

TEST_F(LinkSeedsTest, AnEpochHasEveryEdgeOnceAndNegativesThatAreNone) {
  const NeighbourSource source = open();
  const GraphView& graph = source.graph();
  const auto shapes = source.shapes(2);
  for (size_t split = 0; split < 2; ++split) {
    std::set<Pair> found;
    size_t edges = 0;
    for (const int64_t number : source.blocks().numbers(split)) {
      const GraphBlock block = read(source, number);
      const auto pairs = pairs_of(block);
      ASSERT_EQ(pairs.size(), block.pair_y.size());
      EXPECT_EQ(shapes[static_cast<size_t>(number)].pairs, static_cast<int32_t>(pairs.size()));
      EXPECT_EQ(shapes[static_cast<size_t>(number)].nodes, block.nodes());
      for (size_t i = 0; i < pairs.size(); ++i) {
        const auto& [u, v] = pairs[i];
        const bool is_edge = i < pairs.size() / (1 + kNegatives);
        EXPECT_EQ(block.pair_y[i], is_edge ? 1 : 0);
        EXPECT_EQ(all_.has_edge(v, u), is_edge);
        EXPECT_NE(u, v);
        if (is_edge) found.insert(pairs[i]);
        edges += is_edge;
      }
    }
    EXPECT_EQ(2 * found.size(), graph.split_edges(split).size());
    EXPECT_EQ(edges, found.size());
  }
}

TEST_F(LinkSeedsTest, NoBlockHasAnEdgeThatWasHeldOut) {
  const NeighbourSource source = open();
  const HeldOutEdges held_out(source.graph());
  for (int64_t number = 0; number < source.graphs(); ++number) {
    const GraphBlock block = read(source, number);
    for (size_t e = 0; e < block.edges.size(); e += 2) {
      const auto u = static_cast<int64_t>(block.x[static_cast<size_t>(2 * block.edges[e])]);
      const auto v = static_cast<int64_t>(block.x[static_cast<size_t>(2 * block.edges[e + 1])]);
      EXPECT_TRUE(all_.has_edge(v, u));
      EXPECT_FALSE(held_out.contains(u, v) || held_out.contains(v, u));
    }
  }
}

// With the option, none of the edges that a block predicts is in it, in either direction; without it, many
// are.
TEST_F(LinkSeedsTest, ABlockCanLeaveOutTheEdgesThatItPredicts) {
  for (const bool exclude : {false, true}) {
    const NeighbourSource source = open(16, 5, exclude);
    int64_t seen = 0;
    for (int64_t number = 0; number < source.graphs(); ++number) {
      const GraphBlock block = read(source, number);
      const auto pairs = pairs_of(block);
      const std::set<Pair> targets(pairs.begin(),
                                   pairs.begin() + static_cast<int64_t>(pairs.size()) / (1 + kNegatives));
      for (size_t e = 0; e < block.edges.size(); e += 2) {
        const auto u = static_cast<int64_t>(block.x[static_cast<size_t>(2 * block.edges[e])]);
        const auto v = static_cast<int64_t>(block.x[static_cast<size_t>(2 * block.edges[e + 1])]);
        seen += targets.contains({u, v}) || targets.contains({v, u});
      }
    }
    EXPECT_EQ(seen > 1000, !exclude) << seen;
    EXPECT_EQ(seen == 0, exclude) << seen;
  }
}

TEST_F(LinkSeedsTest, HeldOutEdgesAreFoundEitherWayAndNoOthers) {
  const NeighbourSource source = open();
  const HeldOutEdges held_out(source.graph());
  std::set<Pair> expected;
  for (size_t split = 1; split < kGraphSplits.size(); ++split) {
    const auto edges = source.graph().split_edges(split);
    for (size_t i = 0; i < edges.size(); i += 2) expected.insert({edges[i], edges[i + 1]});
  }
  for (int64_t u = 0; u < all_.nodes(); ++u)
    for (int64_t v = 0; v < all_.nodes(); ++v)
      EXPECT_EQ(held_out.contains(u, v), expected.contains({std::min(u, v), std::max(u, v)}));
}

// Negatives do not depend on the rest of the block; other epochs and seeds have other negatives.
TEST_F(LinkSeedsTest, NegativesDependOnSeedEpochAndEdgeAlone) {
  const auto negatives_of = [&](const NeighbourSource& source, int64_t epoch) {
    std::map<Pair, std::vector<Pair>> found;
    const int64_t per_epoch = source.blocks().per_epoch();
    for (int64_t number = epoch * per_epoch; number < (epoch + 1) * per_epoch; ++number) {
      const auto pairs = pairs_of(read(source, number));
      const size_t edges = pairs.size() / (1 + kNegatives);
      for (size_t i = 0; i < edges; ++i)
        for (size_t n = 0; n < kNegatives; ++n) found[pairs[i]].push_back(pairs[edges + i * kNegatives + n]);
    }
    return found;
  };
  const auto whole = negatives_of(open(), 0);
  EXPECT_EQ(negatives_of(open(5), 0), whole);
  EXPECT_NE(negatives_of(open(), 1), whole);
  EXPECT_NE(negatives_of(open(16, 6), 0), whole);
}

TEST_F(LinkSeedsTest, BlocksReadAheadAreThoseReadAtOnce) {
  const NeighbourSource plain = open(16, 5, true);
  const NeighbourSource cached = open(16, 5, true);
  cached.shapes(2);
  cached.resize_cache(cached.max_cache_bytes() + (1 << 20));
  for (int64_t number = 0; number < cached.graphs(); ++number) {
    const GraphBlock a = read(plain, number);
    const GraphBlock b = read(cached, number);
    EXPECT_EQ(a.x, b.x);
    EXPECT_EQ(a.edges, b.edges);
    EXPECT_EQ(a.pairs, b.pairs);
    EXPECT_EQ(a.pair_y, b.pair_y);
  }
}

TEST_F(LinkSeedsTest, AGraphWithoutEdgesToPredictIsRefused) {
  write_plain_graph(folder_ / "plain", all_);
  NeighbourSourceOptions options;
  options.negatives = 1;
  EXPECT_THAT(error_text<InputError>([&] { NeighbourSource(folder_ / "plain", options); }),
              HasSubstr("split-edges"));
}

}  // namespace
}  // namespace plimsoll
