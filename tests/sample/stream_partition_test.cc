#include "sample/partition/stream_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "support/communities.h"
#include "support/errors.h"
#include "support/giant_graph.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNodes = 4000;
constexpr int64_t kCommunities = 20;

TEST(StreamPartition, FindsCommunitiesAndIsBalanced) {
  const GiantGraph graph = communities(kNodes, kCommunities);
  const CsrTopology topology = graph.topology();
  for (const double slack : {0.0, 0.1}) {
    const Parts parts = stream_partition(topology, {.parts = kCommunities, .slack = slack});
    EXPECT_LE(largest(parts, kCommunities), static_cast<int64_t>(200 * (1 + slack)));
    // A random partition cuts 19 of 20 edges.
    const double cut =
        static_cast<double>(cut_edges(topology, parts)) / static_cast<double>(topology.edges());
    EXPECT_LT(cut, slack == 0 ? 0.6 : 0.3) << slack;
  }
}

// On a ring ranges are optimal.
TEST(StreamPartition, KeepsAGoodOrder) {
  std::vector<std::set<int64_t>> lists(1000);
  for (int64_t node = 0; node < 1000; ++node)
    for (const int64_t other : {(node + 1) % 1000, (node + 999) % 1000})
      lists[static_cast<size_t>(node)].insert(other);
  const GiantGraph graph(lists);
  EXPECT_EQ(cut_edges(graph.topology(), stream_partition(graph.topology(), {.parts = 10})), 20);
}

TEST(StreamPartition, CountsCutEdges) {
  const GiantGraph graph({{1, 2}, {0}, {2}});
  EXPECT_EQ(cut_edges(graph.topology(), std::vector<int32_t>{0, 1, 0}), 2);
  EXPECT_EQ(cut_edges(graph.topology(), std::vector<int32_t>{0, 0, 1}), 1);
}

TEST(StreamPartition, AnyNumberOfPartsIsBalanced) {
  const GiantGraph graph = skewed_graph(103, 1);
  for (const int64_t parts : {1, 2, 3, 7, 50, 103}) {
    const Parts found = stream_partition(graph.topology(), {.parts = parts, .slack = 0, .passes = 2});
    EXPECT_EQ(found.size(), 103U);
    EXPECT_LE(largest(found, parts), (103 + parts - 1) / parts) << parts;
  }
}

// 8 bytes per node, 20 per part, and the columns of one read.
TEST(StreamPartition, HoldsWhatItSays) {
  const GiantGraph graph = communities(kNodes, kCommunities);
  const LedgerCap cap(8 * kNodes + 20 * kCommunities + (128 << 10));
  EXPECT_NO_THROW(stream_partition(graph.topology(), {.parts = kCommunities}));
  const LedgerCap less(6 * kNodes);
  EXPECT_THROW(stream_partition(graph.topology(), {.parts = kCommunities}), BudgetExceeded);
}

TEST(StreamPartition, EndsWhenItsTickThrows) {
  struct Stop {};
  const GiantGraph graph = communities(kNodes, kCommunities);
  int ticks = 0;
  const auto tick = [&] {
    if (++ticks == 3) throw Stop();
  };
  EXPECT_THROW(stream_partition(graph.topology(), {.parts = kCommunities, .tick = tick}), Stop);
  EXPECT_EQ(ticks, 3);
  const Parts parts(static_cast<size_t>(kNodes), 0);
  EXPECT_THROW(cut_edges(graph.topology(), parts, [] { throw Stop(); }), Stop);
}

TEST(StreamPartition, RefusesWhatIsNoPartition) {
  const GiantGraph graph = star(3);
  const auto text = [&](const PartitionOptions& options) {
    return error_text<UsageError>([&] { stream_partition(graph.topology(), options); });
  };
  EXPECT_THAT(text({.parts = 0}), HasSubstr("found 0 parts, expected 1 to the 4 nodes"));
  EXPECT_THAT(text({.parts = 5}), HasSubstr("found 5 parts"));
  EXPECT_THAT(text({.parts = 2, .slack = -1}), HasSubstr("a slack of -1"));
  EXPECT_THAT(text({.parts = 2, .slack = std::numeric_limits<double>::infinity()}),
              HasSubstr("a slack of inf"));
  EXPECT_THAT(text({.parts = 2, .passes = 0}), HasSubstr("0 passes"));
}

}  // namespace
}  // namespace plimsoll
