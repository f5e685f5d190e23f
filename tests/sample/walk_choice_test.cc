#include "sample/neighbour/walk_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "support/giant_graph.h"

namespace plimsoll {
namespace {

double chance_of(const GiantGraph& graph, const WalkChances& chances, int64_t before, int64_t to) {
  return to == before ? chances.back : graph.has_edge(before, to) ? chances.near : chances.far;
}

// Equidistant numbers choose each neighbour as often as its chance requires, give or take one at each end.
void expect_shares(const GiantGraph& graph, const WalkChances& chances, int64_t at, int64_t before) {
  constexpr int kNumbers = 4000;
  const CsrTopology topology = graph.topology();
  std::map<int64_t, double> counts;
  for (int i = 0; i < kNumbers; ++i)
    ++counts[choose_step(topology, chances, at, before, (i + 0.5) / kNumbers)];
  double sum = 0;
  for (int64_t to = 0; to < graph.nodes(); ++to)
    if (graph.has_edge(at, to)) sum += chance_of(graph, chances, before, to);
  for (int64_t to = 0; to < graph.nodes(); ++to) {
    const double share = graph.has_edge(at, to) ? chance_of(graph, chances, before, to) / sum : 0;
    ASSERT_LE(std::abs(counts[to] - share * kNumbers), share > 0 ? 1.001 : 0)
        << before << " " << at << " " << to << ", chances " << chances.back << " " << chances.near << " "
        << chances.far;
  }
}

// Each of the two lists is sometimes the shorter one, with more neighbours than are read together.
TEST(WalkChoice, SharesAreThoseOfTheFormula) {
  const GiantGraph graph = skewed_graph(400, 3);
  for (const WalkChances& chances : {WalkChances{1, 1, 1}, {1e-3, 1, 0.1}, {0.2, 0.01, 1}, {1, 0.1, 1e-3}})
    for (const auto& [at, before] : {std::pair{0, 1},
                                     {1, 0},
                                     {2, 0},
                                     {3, 0},
                                     {0, 200},
                                     {1, 300},
                                     {250, 0},
                                     {0, 6},
                                     {2, 1},
                                     {0, 0},
                                     {0, 399}})
      expect_shares(graph, chances, at, before);
}

TEST(WalkChoice, UnlikelyKindsAreChosenWhereThereAreNoOthers) {
  const GiantGraph graph = star(200);
  expect_shares(graph, {.back = 1e-9, .near = 1, .far = 1e-9}, 0, 17);
  expect_shares(graph, {.back = 1e-18, .near = 1, .far = 1e-9}, 0, 17);
  expect_shares(graph, {.back = 1e-9, .near = 1, .far = 1e-18}, 0, 200);
}

TEST(WalkChoice, StopsWhenTheProcessIsAskedTo) {
  const GiantGraph graph = skewed_graph(100, 3);
  const CsrTopology topology = graph.topology();
  interrupt_requested = true;
  EXPECT_THROW(choose_step(topology, {}, 0, 1, 0.5), Interrupted);
  EXPECT_THROW(choose_step(topology, {}, 1, 0, 0.5), Interrupted);
  interrupt_requested = false;
}

}  // namespace
}  // namespace plimsoll
