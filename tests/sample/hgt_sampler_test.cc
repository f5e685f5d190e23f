#include "sample/typed/hgt_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "support/chi_square.h"
#include "support/errors.h"
#include "support/random_typed_graph.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TypedSample hgt_sample(const TypedTopology& topology, const std::vector<std::vector<int64_t>>& counts,
                       const std::vector<int64_t>& seeds, uint32_t epoch = 1) {
  TypedSample out;
  HgtSampler(topology, counts, 7).sample(0, seeds, epoch, out);
  return out;
}

TEST(HgtSampler, LargeCountsTakeTheNeighbourhoodWithAllItsEdges) {
  const RandomTypedGraph graph(60, 90, 2, 5);
  const TypedTopology topology = graph.topology();
  const std::vector<int64_t> seeds = {50, 3};
  const TypedSample out = hgt_sample(topology, {{1000, 1000}, {1000, 1000}}, seeds);
  std::vector<std::set<int64_t>> expected = {{50, 3}, {}};
  for (int hop = 0; hop < 2; ++hop) {
    std::vector<std::set<int64_t>> more = expected;
    for (size_t type = 0; type < 4; ++type)
      for (const int64_t node : expected[topology.edges()[type].target]) {
        const RandomTypedGraph::Lists& lists = graph.lists(type);
        for (int64_t edge = lists.indptr[static_cast<size_t>(node)];
             edge < lists.indptr[static_cast<size_t>(node) + 1]; ++edge)
          more[topology.edges()[type].source].insert(lists.indices[static_cast<size_t>(edge)]);
      }
    expected = more;
  }
  for (size_t type = 0; type < 2; ++type) {
    const auto& nodes = out.nodes[type].node;
    EXPECT_EQ(std::set<int64_t>(nodes.begin(), nodes.end()), expected[type]);
    EXPECT_EQ(nodes.size(), expected[type].size());
  }
  EXPECT_THAT(std::span(out.nodes[0].node).first(2), ElementsAre(50, 3));
  for (size_t type = 0; type < 4; ++type) {
    std::vector<int64_t> edges;
    const RandomTypedGraph::Lists& lists = graph.lists(type);
    for (const int64_t node : out.nodes[topology.edges()[type].target].node)
      for (int64_t edge = lists.indptr[static_cast<size_t>(node)];
           edge < lists.indptr[static_cast<size_t>(node) + 1]; ++edge)
        if (expected[topology.edges()[type].source].contains(lists.indices[static_cast<size_t>(edge)]))
          edges.push_back(edge);
    EXPECT_EQ(std::vector<int64_t>(out.edges[type].edge.begin(), out.edges[type].edge.end()), edges);
    for (size_t i = 0; i < edges.size(); ++i)
      EXPECT_EQ(out.nodes[topology.edges()[type].source].node[static_cast<size_t>(out.edges[type].row[i])],
                lists.indices[static_cast<size_t>(edges[i])]);
  }
}

// Node 0 has edges from 1, 2, 2 and 3, and node 4 has one from 3, so the sums of 1, 2 and 3 are 1/4, 1/2 and
// 5/4.
TEST(HgtSampler, DrawsInProportionToTheSquaresOfSums) {
  const std::vector<int64_t> indptr = {0, 4, 4, 4, 4, 5};
  const std::vector<uint32_t> indices = {1, 2, 2, 3, 3};
  const TypedTopology topology({{5}}, {{.indptr = indptr, .indices = indices}});
  std::vector<int64_t> counts(3);
  constexpr uint32_t kEpochs = 20'000;
  for (uint32_t epoch = 0; epoch < kEpochs; ++epoch)
    ++counts[static_cast<size_t>(hgt_sample(topology, {{1}}, {0, 4}, epoch).nodes[0].node[2]) - 1];
  const double sum = 1 + 4 + 25;
  const std::vector<double> expected = {kEpochs * 1 / sum, kEpochs * 4 / sum, kEpochs * 25 / sum};
  EXPECT_LT(chi_square_deviations(counts, expected), 5);
}

TEST(HgtSampler, RepeatsAndCountsByHop) {
  const RandomTypedGraph graph(60, 90, 6, 6);
  const TypedTopology topology = graph.topology();
  const TypedSample one = hgt_sample(topology, {{4, 0, 2}, {3, 5, 1}}, {0, 1});
  const TypedSample other = hgt_sample(topology, {{4, 0, 2}, {3, 5, 1}}, {0, 1});
  EXPECT_THAT(one.nodes[0].per_hop, ElementsAre(2, 4, 0, 2));
  EXPECT_THAT(one.nodes[1].per_hop, ElementsAre(0, 3, 5, 1));
  for (size_t type = 0; type < 2; ++type) EXPECT_EQ(one.nodes[type].node, other.nodes[type].node);
  for (size_t type = 0; type < 4; ++type) EXPECT_EQ(one.edges[type].edge, other.edges[type].edge);
  EXPECT_NE(one.nodes[0].node, hgt_sample(topology, {{4, 0, 2}, {3, 5, 1}}, {0, 1}, 2).nodes[0].node);
}

TEST(HgtSampler, RefusesWhatItCannotDo) {
  const RandomTypedGraph graph(60, 90, 6, 7);
  const TypedTopology topology = graph.topology();
  const auto refusal = [&](const std::vector<std::vector<int64_t>>& counts, std::vector<int64_t> seeds) {
    return error_text<UsageError>([&] { hgt_sample(topology, counts, seeds); });
  };
  EXPECT_THAT(refusal({{1}}, {0}), HasSubstr("for 1 types, expected one list for each of 2 node types"));
  EXPECT_THAT(refusal({{1}, {1, 2}}, {0}), HasSubstr("for 1 and 2 hops"));
  EXPECT_THAT(refusal({{1}, {-1}}, {0}), HasSubstr("found -1 nodes"));
  EXPECT_THAT(refusal({{1}, {1}}, {60}), HasSubstr("node 60 is not in the graph"));
}

}  // namespace
}  // namespace plimsoll
