#include "sample/neighbour/random_walks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "memory/ledger.h"
#include "support/chi_square.h"
#include "support/errors.h"
#include "support/giant_graph.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Walks<int64_t> walks_of(const GiantGraph& graph, const WalkOptions& options,
                        const std::vector<int64_t>& starts, uint32_t epoch = 1) {
  Walks<int64_t> out;
  const CsrTopology topology = graph.topology();
  RandomWalks<int64_t>(topology, options, 7).walk(starts, epoch, out);
  return out;
}

// An undirected graph in which node 1, reached from 0, has neighbours of all three kinds.
GiantGraph small_graph() {
  std::vector<std::set<int64_t>> lists(7);
  for (const auto& [a, b] : std::vector<std::pair<size_t, size_t>>{
           {0, 1}, {1, 2}, {0, 2}, {1, 3}, {1, 4}, {3, 4}, {4, 5}, {5, 6}, {0, 6}, {2, 5}}) {
    lists[a].insert(static_cast<int64_t>(b));
    lists[b].insert(static_cast<int64_t>(a));
  }
  return GiantGraph(lists);
}

TEST(RandomWalks, EachStepIsAnEdge) {
  const GiantGraph graph = skewed_graph(100, 1);
  for (const double p : {1.0, 0.3}) {
    const Walks<int64_t> walks = walks_of(graph, {.length = 10, .walks_per_node = 3, .p = p}, {0, 5, 6, 50});
    ASSERT_EQ(walks.size(), 4U * 3 * 11);
    for (size_t walk = 0; walk < 12; ++walk)
      for (size_t step = 0; step < 10; ++step) {
        const int64_t from = walks[walk * 11 + step];
        const int64_t to = walks[walk * 11 + step + 1];
        EXPECT_TRUE(graph.degree(from) == 0 ? to == from : graph.has_edge(from, to)) << from << " to " << to;
      }
  }
}

// A graph without triangles: no neighbour is near.
GiantGraph bipartite_graph() {
  std::vector<std::set<int64_t>> lists(7);
  for (const auto& [a, b] : std::vector<std::pair<size_t, size_t>>{
           {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {0, 5}, {0, 3}, {1, 4}, {2, 5}, {0, 6}}) {
    lists[a].insert(static_cast<int64_t>(b));
    lists[b].insert(static_cast<int64_t>(a));
  }
  return GiantGraph(lists);
}

// A hub whose leaves have no other neighbours, except that the last two are connected if `triangle`.
GiantGraph hub_graph(int64_t leaves, bool triangle) {
  std::vector<std::set<int64_t>> lists(static_cast<size_t>(leaves) + 1);
  for (int64_t leaf = 1; leaf <= leaves; ++leaf) {
    lists[0].insert(leaf);
    lists[static_cast<size_t>(leaf)].insert(0);
  }
  if (triangle) {
    lists[static_cast<size_t>(leaves)].insert(leaves - 1);
    lists[static_cast<size_t>(leaves) - 1].insert(leaves);
  }
  return GiantGraph(lists);
}

// Compares the frequency of each third node, given the first two, with the formula.
void expect_transitions(double p, double q, const GiantGraph& graph = small_graph(),
                        int64_t walks_each = 600) {
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> counts;
  std::vector<int64_t> starts(static_cast<size_t>(graph.nodes()));
  std::iota(starts.begin(), starts.end(), 0);
  const Walks<int64_t> walks =
      walks_of(graph, {.length = 30, .walks_per_node = walks_each, .p = p, .q = q}, starts);
  for (size_t walk = 0; walk < walks.size() / 31; ++walk)
    for (size_t step = 2; step <= 30; ++step) {
      const int64_t* const x = walks.data() + walk * 31 + step;
      std::vector<int64_t>& row = counts[{x[-2], x[-1]}];
      row.resize(starts.size());
      ++row[static_cast<size_t>(*x)];
    }
  ASSERT_EQ(counts.size(), graph.indices.size());
  for (const auto& [pair, row] : counts) {
    const auto& [t, v] = pair;
    std::vector<int64_t> found;
    std::vector<double> expected;
    double sum = 0;
    int64_t seen = 0;
    for (const int64_t x : starts) {
      if (!graph.has_edge(v, x)) {
        EXPECT_EQ(row[static_cast<size_t>(x)], 0);
        continue;
      }
      expected.push_back(x == t ? 1 / p : graph.has_edge(t, x) ? 1 : 1 / q);
      found.push_back(row[static_cast<size_t>(x)]);
      sum += expected.back();
      seen += found.back();
    }
    for (double& value : expected) value *= static_cast<double>(seen) / sum;
    if (expected.size() > 1) {
      EXPECT_LT(chi_square_deviations(found, expected), 5) << t << " " << v << ", p " << p << " q " << q;
    }
  }
}

TEST(RandomWalks, TransitionsAreThoseOfTheFormula) {
  expect_transitions(1, 1);
  expect_transitions(0.25, 4);
  expect_transitions(4, 0.5);
  expect_transitions(2, 1);
}

// Covers draws that are rejected and draws from the lists.
TEST(RandomWalks, TransitionsAreThoseOfTheFormulaForAnyPAndQ) {
  expect_transitions(1e6, 3e6, bipartite_graph(), 200);
  expect_transitions(1e9, 1e9, bipartite_graph(), 200);
  expect_transitions(90, 30, hub_graph(40, false), 100);
  expect_transitions(1e9, 1e8, hub_graph(40, false), 100);
  expect_transitions(3000, 90, hub_graph(40, true), 100);
  expect_transitions(90, 3000, hub_graph(40, true), 100);
  expect_transitions(300, 300, hub_graph(40, true), 100);
}

TEST(RandomWalks, TheListsDecideTheSameOnADisk) {
  for (const GiantGraph& graph : {bipartite_graph(), hub_graph(300, false), hub_graph(300, true)}) {
    const CsrTopology topology = graph.topology();
    const WalkOptions options{.length = 12, .walks_per_node = 8, .p = 1e6, .q = 3e6};
    const std::vector<int64_t> starts{0, 1, 6};
    Walks<int64_t> found;
    RandomWalks<int64_t>(topology, options, 7, RandomWalks<int64_t>::Reading::disk).walk(starts, 1, found);
    EXPECT_EQ(found, walks_of(graph, options, starts));
  }
}

TEST(RandomWalks, ALeafSendsTheWalkBackWhateverP) {
  const GiantGraph graph({{1}, {0}});
  EXPECT_THAT(walks_of(graph, {.length = 4, .p = 1e9}, {0}), ElementsAre(0, 1, 0, 1, 0));
}

TEST(RandomWalks, StopWhenTheProcessIsAskedTo) {
  const GiantGraph graph = small_graph();
  interrupt_requested = true;
  EXPECT_THROW(walks_of(graph, {.length = 1}, {0}), Interrupted);
  interrupt_requested = false;
}

// Reads as from a disk: sorted by node, some draws at a time.
TEST(RandomWalks, EveryWayOfReadingGivesTheSame) {
  const GiantGraph graph = skewed_graph(3000, 2);
  const CsrTopology topology = graph.topology();
  std::vector<int64_t> starts(3000);
  std::iota(starts.begin(), starts.end(), 0);
  for (const auto& [p, q] :
       {std::pair{1.0, 1.0}, {0.25, 4.0}, {4.0, 0.5}, {1.0, 0.5}, {0.02, 1.0}, {50.0, 1.0}}) {
    const WalkOptions options{.length = 12, .walks_per_node = 8, .p = p, .q = q};
    Walks<int64_t> expected, found;
    RandomWalks<int64_t>(topology, options, 7).walk(starts, 3, expected);
    RandomWalks<int64_t>(topology, options, 7, RandomWalks<int64_t>::Reading::disk).walk(starts, 3, found);
    EXPECT_EQ(found, expected) << p << " " << q;
    Walks<uint32_t> narrow;
    RandomWalks<uint32_t>(topology, options, 7).walk(starts, 3, narrow);
    EXPECT_TRUE(std::ranges::equal(narrow, expected)) << p << " " << q;
  }
}

template <typename T>
void expect_no_more_than_said() {
  const GiantGraph graph = skewed_graph(5000, 2);
  const CsrTopology topology = graph.topology();
  std::vector<int64_t> starts(5000);
  std::iota(starts.begin(), starts.end(), 0);
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held();
  for (const double q : {1.0, 0.1}) {
    const WalkOptions options{.length = 3, .walks_per_node = 80, .q = q};
    RandomWalks<T> walks(topology, options, 7, RandomWalks<T>::Reading::disk);
    ledger.begin_recent();
    walks.begin(starts, 0);
    for (int step = 0; step < 3; ++step) walks.step();
    EXPECT_LE(ledger.recent_peak() - before, RandomWalks<T>::bytes_for(5000, options)) << q;
  }
}

TEST(RandomWalks, TakeNoMoreThanTheySay) {
  expect_no_more_than_said<uint32_t>();
  expect_no_more_than_said<int64_t>();
}

TEST(RandomWalks, AWalkDependsOnItsStartAlone) {
  const GiantGraph graph = small_graph();
  const WalkOptions options{.length = 6, .walks_per_node = 2, .p = 2, .q = 0.5};
  const Walks<int64_t> alone = walks_of(graph, options, {3});
  const Walks<int64_t> among = walks_of(graph, options, {0, 3, 3});
  for (const size_t first : {14, 28})
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), among.begin() + static_cast<int64_t>(first)));
  EXPECT_NE(std::vector<int64_t>(alone.begin(), alone.begin() + 7),
            std::vector<int64_t>(alone.begin() + 7, alone.end()));
  EXPECT_NE(walks_of(graph, options, {3}, 2), alone);
}

TEST(RandomWalks, StaysWhereThereIsNoNeighbour) {
  const GiantGraph graph = star(1);
  const Walks<int64_t> walks = walks_of(graph, {.length = 3, .p = 3}, {0, 1});
  EXPECT_THAT(walks, ElementsAre(0, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(walks_of(graph, {.length = 0}, {1}), ElementsAre(1));
}

TEST(RandomWalks, RefusesWhatIsNoWalk) {
  const GiantGraph graph = star(1);
  const auto text = [&](const WalkOptions& options) {
    return error_text<UsageError>([&] { walks_of(graph, options, {0}); });
  };
  EXPECT_THAT(text({.length = -1}), HasSubstr("found -1 steps"));
  EXPECT_THAT(error_text<UsageError>([&] { walks_of(graph, {.length = 1}, {2}); }), HasSubstr("node 2"));
  EXPECT_THAT(text({.length = 1, .p = 0}), HasSubstr("found p 0"));
  EXPECT_THAT(text({.length = 1, .q = -2}), HasSubstr("q -2, expected numbers from 1e-9 to 1e9"));
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double p : {infinite, std::nan(""), 1e10, 1e-10})
    EXPECT_THAT(text({.length = 1, .p = p}), HasSubstr("found p")) << p;
}

}  // namespace
}  // namespace plimsoll
