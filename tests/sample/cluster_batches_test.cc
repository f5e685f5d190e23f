#include "sample/partition/cluster_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "support/errors.h"
#include "support/giant_graph.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ClusterBatches, EachNodeIsInOneBatchWithAllEdgesWithinIt) {
  const GiantGraph graph = skewed_graph(100, 1);
  const CsrTopology topology = graph.topology();
  std::vector<int32_t> parts(100);
  for (size_t node = 0; node < 100; ++node) parts[node] = static_cast<int32_t>(node * node % 7);
  const ClusterBatches batches(topology, parts, 2, 5);
  EXPECT_EQ(batches.parts(), 5);  // squares modulo 7 are 0, 1, 2 and 4: part 3 is empty
  EXPECT_EQ(batches.batches(), 3);
  std::multiset<int64_t> nodes;
  SampledSubgraph out;
  for (int64_t batch = 0; batch < 3; ++batch) {
    batches.read(batch, 1, out);
    nodes.insert(out.node.begin(), out.node.end());
    std::set<int64_t> seen_parts;
    std::set<int64_t> inside(out.node.begin(), out.node.end());
    for (const int64_t node : inside) seen_parts.insert(parts[static_cast<size_t>(node)]);
    EXPECT_LE(seen_parts.size(), 2U);
    size_t edges = 0;
    for (size_t edge = 0; edge < graph.indices.size(); ++edge)
      edges +=
          inside.contains(graph.indices[edge]) && inside.contains(graph.owner(static_cast<int64_t>(edge)));
    EXPECT_EQ(out.edge.size(), edges);
  }
  EXPECT_EQ(nodes.size(), 100U);
  EXPECT_EQ(std::set<int64_t>(nodes.begin(), nodes.end()).size(), 100U);
}

TEST(ClusterBatches, EpochsShuffleTheParts) {
  const GiantGraph graph = star(9);
  const CsrTopology topology = graph.topology();
  const std::vector<int32_t> parts = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const ClusterBatches batches(topology, parts, 3, 5);
  const auto first = [&](uint32_t epoch) {
    SampledSubgraph out;
    batches.read(0, epoch, out);
    return out.node;
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
}

TEST(ClusterBatches, RefusesPartsOfAnotherGraph) {
  const GiantGraph graph = star(2);
  const CsrTopology topology = graph.topology();
  const auto text = [&](const std::vector<int32_t>& parts, int64_t each) {
    return error_text<UsageError>([&] { ClusterBatches(topology, parts, each, 1); });
  };
  EXPECT_THAT(text({0, 1}, 1), HasSubstr("found the parts of 2 nodes, expected those of 3"));
  EXPECT_THAT(text({0, 1, 1}, 0), HasSubstr("0 parts a batch"));
  EXPECT_THAT(text({0, -1, 1}, 1), HasSubstr("part -1 of node 1"));
}

}  // namespace
}  // namespace plimsoll
