#include "sample/neighbour/predicted_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "memory/ledger.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "support/giant_graph.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> edges_of(PredictedEdges& targets, uint32_t batch, int64_t node) {
  std::vector<int64_t> edges;
  for (const EdgeRun& run : targets.of_node(batch, node))
    for (int64_t edge = run.begin; edge < run.end; ++edge) edges.push_back(edge);
  return edges;
}

// Lists with duplicates, as in a graph with several edges between two nodes: 0: 1 1 2, 1: 0 2, 2: 2, 3: none.
class PredictedEdgesTest : public testing::Test {
 protected:
  const std::vector<int64_t> indptr_ = {0, 3, 5, 6, 6};
  const std::vector<int64_t> indices_ = {1, 1, 2, 0, 2, 2};
  const CsrTopology topology_{indptr_, std::span<const int64_t>(indices_)};
  PredictedEdges targets_;
};

TEST_F(PredictedEdgesTest, AreAllBetweenTheEndsEitherWay) {
  targets_.add(0, 1, 0);
  targets_.add(0, 0, 1);  // The same pair again.
  targets_.add(0, 2, 2);
  targets_.add(1, 0, 2);
  targets_.add(1, 3, 0);  // A pair without an edge.
  targets_.find(topology_);
  EXPECT_THAT(edges_of(targets_, 0, 0), ElementsAre(0, 1));
  EXPECT_THAT(edges_of(targets_, 0, 1), ElementsAre(3));
  EXPECT_THAT(edges_of(targets_, 0, 2), ElementsAre(5));
  EXPECT_THAT(edges_of(targets_, 1, 0), ElementsAre(2));
  EXPECT_THAT(edges_of(targets_, 1, 1), IsEmpty());
  EXPECT_THAT(edges_of(targets_, 1, 2), IsEmpty());
  EXPECT_THAT(edges_of(targets_, 1, 3), IsEmpty());
  targets_.clear();
  EXPECT_TRUE(targets_.empty());
  EXPECT_THAT(edges_of(targets_, 0, 0), IsEmpty());
}

TEST_F(PredictedEdgesTest, TakeNoMoreThanIsSaid) {
  const GiantGraph graph = skewed_graph(2000, 3);
  const CsrTopology topology = graph.topology();
  for (const int64_t pairs : {1, 100, 5000}) {
    const int64_t before = Ledger::process().held();
    Ledger::process().begin_recent();
    PredictedEdges targets;
    for (int64_t i = 0; i < pairs; ++i)
      targets.add(static_cast<uint32_t>(i % 3), i % 2000, graph.indices[static_cast<size_t>(i)]);
    targets.find(topology);
    EXPECT_FALSE(targets.empty());
    EXPECT_LE(Ledger::process().recent_peak() - before, PredictedEdges::bytes_for(pairs));
  }
}

// Covers all kinds of subgraphs; an edge between two seeds may be reached in any hop of a disjoint one.
TEST(NeighbourSamplerTargets, AreInNoSample) {
  GiantGraph graph = skewed_graph(60, 5);
  graph.weights.assign(graph.indices.size(), 1);
  const CsrTopology topology = graph.topology();
  std::vector<int64_t> targets;
  for (int64_t v = 0; v < 12; ++v)
    if (graph.degree(v) > 0)
      targets.insert(targets.end(),
                     {graph.indices[static_cast<size_t>(graph.indptr[static_cast<size_t>(v)])], v});
  std::set<int64_t> ends(targets.begin(), targets.end());
  const std::vector<int64_t> seeds(ends.begin(), ends.end());
  const auto is_target = [&](int64_t a, int64_t b) {
    for (size_t i = 0; i < targets.size(); i += 2)
      if ((targets[i] == a && targets[i + 1] == b) || (targets[i] == b && targets[i + 1] == a)) return true;
    return false;
  };
  for (const SubgraphType type :
       {SubgraphType::directional, SubgraphType::bidirectional, SubgraphType::induced})
    for (const bool disjoint : {false, true})
      for (const bool weighted : {false, true}) {
        NeighbourSampler sampler(
            topology, {.fan_outs = {-1, 8}, .weighted = weighted, .disjoint = disjoint, .subgraph = type}, 7);
        const auto count = [&](std::span<const int64_t> without) {
          SampledSubgraph out;
          sampler.sample(seeds, 1, without, out);
          int64_t found = 0;
          for (size_t e = 0; e < out.row.size(); ++e)
            found += is_target(out.node[static_cast<size_t>(out.row[e])],
                               out.node[static_cast<size_t>(out.col[e])]);
          EXPECT_GT(out.row.size(), 100U);
          return found;
        };
        EXPECT_EQ(count(targets), 0);
        EXPECT_GE(count({}), std::ssize(targets) / 2);
      }
}

}  // namespace
}  // namespace plimsoll
