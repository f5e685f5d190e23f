#include "sample/neighbour/neighbour_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "support/chi_square.h"
#include "support/errors.h"
#include "support/giant_graph.h"

namespace plimsoll {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kFirst = 100;  // Start of the list.

Draws draws_of(int64_t trial) {
  return {item_key(3, Purpose::neighbours, 1, trial), Purpose::neighbours, 0};
}

std::vector<int64_t> choose(NeighbourChoice& choice, int64_t degree, int64_t count, bool replace,
                            int64_t trial) {
  std::vector<int64_t> edges(static_cast<size_t>(NeighbourChoice::max(degree, count, replace)));
  Draws draws = draws_of(trial);
  EXPECT_EQ(choice.uniform({kFirst, degree}, count, replace, draws, edges.data()),
            static_cast<int64_t>(edges.size()));
  return edges;
}

TEST(NeighbourChoice, TakesAllWhereThereAreNoMore) {
  NeighbourChoice choice;
  EXPECT_THAT(choose(choice, 3, NeighbourChoice::kAll, false, 0), ElementsAre(100, 101, 102));
  EXPECT_THAT(choose(choice, 3, NeighbourChoice::kAll, true, 0), ElementsAre(100, 101, 102));
  EXPECT_THAT(choose(choice, 3, 3, false, 0), ElementsAre(100, 101, 102));
  EXPECT_THAT(choose(choice, 3, 9, false, 0), ElementsAre(100, 101, 102));
  EXPECT_THAT(choose(choice, 3, 0, false, 0), ElementsAre());
  EXPECT_THAT(choose(choice, 0, 5, true, 0), ElementsAre());
  EXPECT_EQ(choose(choice, 3, 9, true, 0).size(), 9U);
}

TEST(NeighbourChoice, WithoutReplacementIsAscendingAndWithinTheList) {
  NeighbourChoice choice;
  for (const int64_t degree : {11, 63, 64, 65, 640, 641, 100'000})
    for (const int64_t count : {int64_t{1}, int64_t{10}, degree - 1}) {
      const std::vector<int64_t> edges = choose(choice, degree, count, false, degree);
      EXPECT_EQ(std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()), edges.end());
      EXPECT_GE(edges.front(), kFirst);
      EXPECT_LT(edges.back(), kFirst + degree);
    }
}

// The result equals that for a list without these edges.
TEST(NeighbourChoice, EdgesThatAreLeftOutAreNeverChosenAndOthersAsLikely) {
  const std::vector<EdgeRun> without = {
      {100, 102}, {104, 105}, {108, 110}};  // Leaves 102, 103, 105, 106, 107.
  const GiantGraph graph = star(200);
  std::vector<float> weights(200, 1);
  const CsrTopology topology(graph.indptr, std::span<const int64_t>(graph.indices), weights);
  NeighbourChoice choice;
  std::vector<int64_t> edges(10);
  Draws all = draws_of(0);
  ASSERT_EQ(choice.uniform({kFirst, 10}, NeighbourChoice::kAll, false, all, edges.data(), without), 5);
  EXPECT_THAT(std::vector<int64_t>(edges.begin(), edges.begin() + 5), ElementsAre(102, 103, 105, 106, 107));
  for (const bool weighted : {false, true})
    for (const bool replace : {false, true}) {
      constexpr int64_t kTrials = 20'000;
      std::map<int64_t, int64_t> counts;
      for (int64_t trial = 0; trial < kTrials; ++trial) {
        Draws draws = draws_of(trial);
        const int64_t chosen =
            weighted ? choice.weighted(topology, {kFirst, 10}, 2, replace, draws, edges.data(), without)
                     : choice.uniform({kFirst, 10}, 2, replace, draws, edges.data(), without);
        ASSERT_EQ(chosen, 2);
        for (int64_t i = 0; i < chosen; ++i) ++counts[edges[static_cast<size_t>(i)]];
      }
      std::vector<int64_t> found;
      for (const auto& [edge, count] : counts) {
        EXPECT_THAT(edge, AnyOf(102, 103, 105, 106, 107));
        found.push_back(count);
      }
      ASSERT_EQ(found.size(), 5U);
      EXPECT_LT(chi_square_deviations(found, std::vector<double>(5, 2.0 * kTrials / 5)), 5);
    }
}

// A short list uses Floyd's algorithm; a list of 65 or more with a fan-out of 1 uses the other algorithm.
TEST(NeighbourChoice, EachNeighbourIsAsLikely) {
  NeighbourChoice choice;
  struct Case {
    int64_t degree, count;
    bool replace;
  };
  for (const auto& [degree, count, replace] : {Case{10, 3, false}, Case{10, 9, false}, Case{130, 1, false},
                                               Case{200, 3, false}, Case{10, 4, true}}) {
    constexpr int64_t kTrials = 40'000;
    std::vector<int64_t> counts(static_cast<size_t>(degree));
    for (int64_t trial = 0; trial < kTrials; ++trial)
      for (const int64_t edge : choose(choice, degree, count, replace, trial))
        ++counts[static_cast<size_t>(edge - kFirst)];
    const double each = static_cast<double>(kTrials * count) / static_cast<double>(degree);
    const double deviations =
        chi_square_deviations(counts, std::vector<double>(static_cast<size_t>(degree), each));
    // Choices without replacement vary less than independent choices, so only an excess is an error.
    EXPECT_LT(deviations, 5) << degree << " " << count;
  }
}

TEST(NeighbourChoice, EachSetIsAsLikely) {
  NeighbourChoice choice;
  std::map<std::vector<int64_t>, int64_t> sets;
  for (int64_t trial = 0; trial < 20'000; ++trial) ++sets[choose(choice, 6, 3, false, trial)];
  ASSERT_EQ(sets.size(), 20U);
  std::vector<int64_t> counts;
  for (const auto& [set, count] : sets) counts.push_back(count);
  EXPECT_LT(chi_square_deviations(counts, std::vector<double>(20, 1000.0)), 5);
}

std::vector<int64_t> choose_weighted(NeighbourChoice& choice, const GiantGraph& graph, int64_t count,
                                     bool replace, int64_t trial) {
  std::vector<int64_t> edges(static_cast<size_t>(std::max(count, graph.degree(0))));
  Draws draws = draws_of(trial);
  edges.resize(static_cast<size_t>(
      choice.weighted(graph.topology(), {0, graph.degree(0)}, count, replace, draws, edges.data())));
  return edges;
}

// Probability that each of `weights` is among `count` sequential draws, each proportional to the remaining
// weights.
std::vector<double> inclusion(const std::vector<double>& weights, int64_t count) {
  std::vector<double> probabilities(weights.size());
  if (count == 0) return probabilities;
  double sum = 0;
  for (const double weight : weights) sum += weight;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    std::vector<double> left = weights;
    left[i] = 0;
    const std::vector<double> rest = inclusion(left, count - 1);
    for (size_t j = 0; j < weights.size(); ++j) probabilities[j] += weights[i] / sum * (i == j ? 1 : rest[j]);
  }
  return probabilities;
}

TEST(NeighbourChoice, WeightedInclusionIsThatOfDrawingOneAfterTheOther) {
  GiantGraph graph = star(5);
  graph.weights = {1, 2, 0.5F, 8, 3};
  NeighbourChoice choice;
  constexpr int64_t kTrials = 40'000;
  for (const int64_t count : {1, 2, 3, 4}) {
    std::vector<int64_t> counts(5);
    for (int64_t trial = 0; trial < kTrials; ++trial) {
      const std::vector<int64_t> edges = choose_weighted(choice, graph, count, false, trial);
      ASSERT_EQ(std::set<int64_t>(edges.begin(), edges.end()).size(), static_cast<size_t>(count));
      for (const int64_t edge : edges) ++counts[static_cast<size_t>(edge)];
    }
    const std::vector<double> exact = inclusion({1, 2, 0.5, 8, 3}, count);
    for (size_t i = 0; i < 5; ++i) {
      const double deviation = std::sqrt(kTrials * exact[i] * (1 - exact[i]));
      EXPECT_NEAR(static_cast<double>(counts[i]), kTrials * exact[i], 5 * deviation) << count << " " << i;
    }
  }
}

TEST(NeighbourChoice, WeightedWithReplacementIsProportional) {
  GiantGraph graph = star(4);
  graph.weights = {1, 2, 3, 4};
  NeighbourChoice choice;
  std::vector<int64_t> counts(4);
  for (int64_t trial = 0; trial < 2000; ++trial)
    for (const int64_t edge : choose_weighted(choice, graph, 10, true, trial))
      ++counts[static_cast<size_t>(edge)];
  EXPECT_LT(chi_square_deviations(counts, std::vector<double>{2000, 4000, 6000, 8000}), 5);
}

// The list has more than one part, and the favoured edge is in the last one.
TEST(NeighbourChoice, WeightsOfALongListAreReadInPieces) {
  GiantGraph graph = star(5000);
  graph.weights.assign(5000, 1e-6F);
  graph.weights[4999] = 1e6F;
  NeighbourChoice choice;
  for (const bool replace : {false, true}) {
    const std::vector<int64_t> edges = choose_weighted(choice, graph, 3, replace, 1);
    ASSERT_EQ(edges.size(), 3U);
    EXPECT_EQ(edges.back(), 4999);
  }
}

TEST(NeighbourChoice, AnEdgeOfWeight0IsNotChosen) {
  GiantGraph graph = star(4);
  graph.weights = {0, 1, 0, 2};
  NeighbourChoice choice;
  EXPECT_THAT(choose_weighted(choice, graph, 4, false, 1), ElementsAre(1, 3));
  for (const int64_t edge : choose_weighted(choice, graph, 50, true, 1)) EXPECT_EQ(edge % 2, 1);
  EXPECT_EQ(choose_weighted(choice, graph, NeighbourChoice::kAll, false, 1).size(), 4U);
  graph.weights = {0, 0, 0, 0};
  EXPECT_TRUE(choose_weighted(choice, graph, 2, true, 1).empty());
  EXPECT_TRUE(choose_weighted(choice, graph, 2, false, 1).empty());
}

TEST(NeighbourChoice, RefusesWeightsThatAreNone) {
  GiantGraph graph = star(4);
  NeighbourChoice choice;
  for (const float bad : {-1.0F, std::nanf(""), INFINITY}) {
    graph.weights = {1, 1, bad, 1};
    EXPECT_THAT(error_text<InputError>([&] { choose_weighted(choice, graph, 2, false, 1); }),
                HasSubstr("at edge 2, expected 0 or a positive number"));
  }
}

}  // namespace
}  // namespace plimsoll
