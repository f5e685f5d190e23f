#include "sample/partition/metis_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "memory/ledger.h"
#include "sample/partition/metis_process.h"
#include "support/communities.h"
#include "support/errors.h"
#include "support/giant_graph.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;

constexpr int64_t kNodes = 4000;
constexpr int64_t kCommunities = 20;

TEST(MetisPartition, FindsCommunitiesAndIsBalanced) {
  const GiantGraph graph = communities(kNodes, kCommunities);
  const CsrTopology topology = graph.topology();
  const Parts parts = metis_partition(topology, {.parts = kCommunities});
  EXPECT_LE(largest(parts, kCommunities), 220);
  const int64_t cut = cut_edges(topology, parts);
  EXPECT_LT(cut, topology.edges() * 15 / 100);
  EXPECT_LE(cut, cut_edges(topology, stream_partition(topology, {.parts = kCommunities})));
}

// Compares with the cut that METIS reports, for a graph with edges in one direction, in both, and self-loops.
TEST(MetisPartition, MakesSmallWhatIsCounted) {
  const GiantGraph graph = skewed_graph(500, 3);
  const CsrTopology topology = graph.topology();
  Parts parts(500);
  const auto cut = run_metis(symmetric_graph(topology), 7, 0.1, 64 << 20, parts);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(*cut, cut_edges(topology, parts));
  EXPECT_EQ(parts, metis_partition(topology, {.parts = 7}));
}

TEST(MetisPartition, IsTheSameWhateverElseTheProcessDoes) {
  const GiantGraph graph = communities(kNodes, kCommunities);
  const Parts first = metis_partition(graph.topology(), {.parts = kCommunities});
  std::srand(5);
  const int drawn = std::rand();
  std::srand(5);
  std::vector<Parts> found(3);
  std::vector<std::jthread> threads;
  for (Parts& parts : found)
    threads.emplace_back([&] { parts = metis_partition(graph.topology(), {.parts = kCommunities}); });
  threads.clear();
  EXPECT_THAT(found, Each(first));
  EXPECT_EQ(std::rand(), drawn);  // The random numbers of the C library are not used.
}

TEST(MetisPartition, TakesAnyGraphAndNumberOfParts) {
  const GiantGraph nothing(std::vector<std::set<int64_t>>(10));
  for (const GiantGraph& graph : {skewed_graph(103, 1), star(102), nothing})
    for (const int64_t parts : {1, 2, 3, 7, 10}) {
      const Parts found = metis_partition(graph.topology(), {.parts = parts, .slack = 0});
      EXPECT_EQ(static_cast<int64_t>(found.size()), graph.nodes());
      EXPECT_THAT(found, Each(AllOf(Ge(0), Lt(parts))));
    }
  const GiantGraph graph = skewed_graph(103, 1);
  EXPECT_THAT(metis_partition(graph.topology(), {.parts = 103}), Each(AllOf(Ge(0), Lt(103))));
}

TEST(MetisPartition, IsKilledWhenItsTickThrows) {
  struct Stop {};
  const GiantGraph graph = communities(kNodes, kCommunities);
  const auto tick = [] { throw Stop(); };
  EXPECT_THROW(metis_partition(graph.topology(), {.parts = kCommunities, .tick = tick}), Stop);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "its process is left";
}

TEST(MetisPartition, IsChargedBeforeMetisBegins) {
  const GiantGraph graph = communities(kNodes, kCommunities);
  const int64_t charge = 64 * (kNodes + graph.indptr.back()) + (1 << 20);
  const int64_t symmetric = 4 * 2 * (kNodes + 1) + 8 * graph.indptr.back();
  {
    const LedgerCap cap(charge + symmetric);
    const int64_t before = Ledger::process().held();
    EXPECT_NO_THROW(metis_partition(graph.topology(), {.parts = kCommunities}));
    EXPECT_EQ(Ledger::process().held(), before);
  }
  const LedgerCap less(charge);
  EXPECT_THAT(error_text<BudgetExceeded>([&] { metis_partition(graph.topology(), {.parts = kCommunities}); }),
              HasSubstr("partition by streaming instead; out of budget"));
}

// With sanitizers METIS has no memory limit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A ring of nodes connected to the five before and after them, large compared with the free memory of malloc.
SymmetricGraph ring(int32_t nodes) {
  SymmetricGraph graph;
  graph.row_ptr.push_back(0);
  for (int32_t node = 0; node < nodes; ++node) {
    for (const int32_t step : {-5, -4, -3, -2, -1, 1, 2, 3, 4, 5})
      graph.neighbours.push_back((node + step + nodes) % nodes);
    graph.row_ptr.push_back(static_cast<int32_t>(graph.neighbours.size()));
  }
  graph.weights.assign(graph.neighbours.size(), 1);
  return graph;
}

// METIS reports the lack of memory however early it occurs.
TEST(MetisPartition, GetsNoMoreMemoryThanItIsGiven) {
  constexpr int64_t kMany = 500'000;
  const SymmetricGraph graph = ring(kMany);
  Parts parts(kMany);
  for (int64_t bytes = 64 << 10; bytes < 11 * kMany * 8; bytes *= 2)
    EXPECT_EQ(run_metis(graph, kCommunities, 0.1, bytes, parts), std::nullopt) << bytes;
  EXPECT_TRUE(run_metis(graph, kCommunities, 0.1, 11 * kMany * 64, parts).has_value());
}
#endif

TEST(MetisPartition, RefusesWhatIsNoPartition) {
  const GiantGraph graph = star(3);
  const auto text = [&](const MetisOptions& options) {
    return error_text<UsageError>([&] { metis_partition(graph.topology(), options); });
  };
  EXPECT_THAT(text({.parts = 0}), HasSubstr("found 0 parts, expected 1 to 4 for the 4 nodes"));
  EXPECT_THAT(text({.parts = 5}), HasSubstr("found 5 parts"));
  EXPECT_THAT(text({.parts = 2, .slack = -1}), HasSubstr("a slack of -1"));
}

}  // namespace
}  // namespace plimsoll
