#include "sample/typed/sample_layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace plimsoll {
namespace {

const std::vector<int64_t> kLists(4, 0);  // Lists of three nodes, without edges.

TypedTopology topology_of(const std::vector<std::pair<size_t, size_t>>& edge_types, size_t node_types) {
  std::vector<TypedEdges> edges;
  for (const auto& [source, target] : edge_types)
    edges.push_back({.source = source, .target = target, .indptr = kLists, .indices = {}});
  return {std::vector<TypedNodes>(node_types, TypedNodes{.nodes = 3}), std::move(edges)};
}

// Types: 0 users, 1 orders, 2 shops, 3 towns, and 4, which nothing reaches.
TEST(SampleLayout, HasTheTypesThatHopsReach) {
  const TypedTopology topology = topology_of({{1, 0}, {0, 1}, {2, 1}, {3, 2}, {1, 4}}, 5);
  const SampleLayout layout = layout_of_samples(topology, /*seed_type=*/0, /*hops=*/2);
  ASSERT_EQ(layout.nodes.size(), 3U);
  EXPECT_EQ(layout.nodes[layout.seeds].type, 0U);
  const std::vector<size_t> first_hops = {layout.nodes[0].first_hop, layout.nodes[1].first_hop,
                                          layout.nodes[2].first_hop};
  EXPECT_EQ(first_hops, (std::vector<size_t>{0, 1, 2}));
  ASSERT_EQ(layout.edges.size(), 3U);  // Orders of users, users of orders and shops of orders.
  EXPECT_EQ(layout.edges[0].first_hop, 1U);
  EXPECT_EQ(layout.edges[2].first_hop, 2U);
  EXPECT_EQ(layout.nodes[layout.edges[2].source].type, 2U);
  EXPECT_EQ(layout.counts, 3U + 2U + 1U + 2U + 1U + 1U);
}

TEST(SampleLayout, CountsWithinHopsAreCumulative) {
  const TypedTopology topology = topology_of({{1, 0}}, 2);
  const SampleLayout layout = layout_of_samples(topology, 0, 1);
  const std::vector<int64_t> counts = {4, 4, 9, 7};  // Users within 0 and 1 hops, orders, edges.
  const std::span<const int64_t> all(counts);
  EXPECT_EQ(layout.within(layout.nodes[0], 1, all), 4);
  EXPECT_EQ(layout.within(layout.nodes[1], 0, all), 0);
  EXPECT_EQ(layout.within(layout.nodes[1], 1, all), 9);
  EXPECT_EQ(layout.within(layout.edges[0], 1, all), 7);
}

TEST(SampleLayout, PadsEachTypeButThatOfTheSeeds) {
  const TypedTopology topology = topology_of({{1, 0}, {0, 1}}, 2);
  const SampleLayout layout = layout_of_samples(topology, 0, 2);
  std::vector<int64_t> counts(layout.counts, 0);
  layout.add_padding(counts);
  const std::span<const int64_t> all(counts);
  EXPECT_EQ(layout.within(layout.nodes[0], 2, all), 0);
  EXPECT_EQ(layout.within(layout.nodes[1], 1, all), SampleLayout::kPadding);
  EXPECT_EQ(layout.within(layout.nodes[1], 2, all), SampleLayout::kPadding);
  EXPECT_EQ(layout.padding(), SampleLayout::kPadding);
}

}  // namespace
}  // namespace plimsoll
