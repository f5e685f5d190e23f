#include "engine/data/curriculum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"

namespace plimsoll {
namespace {

// 400 benign graphs with difficulty (7 i) mod 400, then 10 with an attack.
class CurriculumTest : public testing::Test {
 protected:
  CurriculumTest() {
    for (int64_t g = 0; g < 410; ++g) {
      training_.push_back(g);
      shapes_.push_back({.nodes = 3, .label = g < 400 ? 0 : 1});
      difficulty_.push_back(static_cast<float>(7 * g % 400));
    }
  }
  Curriculum make(CurriculumKind schedule, int64_t epochs) const {
    return Curriculum(schedule, training_, shapes_, difficulty_, epochs);
  }
  GraphList benign_of(const Curriculum& curriculum, int64_t epoch) const {
    GraphList graphs;
    curriculum.graphs_of(epoch, graphs);
    EXPECT_TRUE(std::ranges::is_sorted(graphs));
    EXPECT_EQ(std::ranges::count_if(graphs, [](int64_t g) { return g >= 400; }), 10) << "all attacks";
    std::erase_if(graphs, [](int64_t g) { return g >= 400; });
    return graphs;
  }

  GraphList training_;
  std::vector<GraphShape> shapes_;
  std::vector<float> difficulty_;
};

TEST_F(CurriculumTest, KdgatMovesWithEveryEpoch) {
  const Curriculum curriculum = make(CurriculumKind::kdgat, 10);
  // Ratio 1 + 9t of the graphs at or above percentile 75 + 20t: numpy.percentile(range(400), 75 + 20 t).
  const std::vector<int64_t> expected = {10, 19, 28, 37, 46, 55, 52, 44, 36, 28};
  for (int64_t epoch = 1; epoch <= 10; ++epoch)
    EXPECT_EQ(curriculum.benign_of(epoch), expected[static_cast<size_t>(epoch - 1)]) << epoch;
}

TEST_F(CurriculumTest, TakesTheHardestFirst) {
  const Curriculum curriculum = make(CurriculumKind::kdgat, 10);
  const GraphList first = benign_of(curriculum, 1);
  ASSERT_EQ(first.size(), 10U);
  std::set<float> found;
  for (const int64_t g : first) found.insert(difficulty_[static_cast<size_t>(g)]);
  EXPECT_EQ(*found.begin(), 390.0F);
  EXPECT_EQ(*found.rbegin(), 399.0F);
}

TEST_F(CurriculumTest, Hard4To1StaysAsItIs) {
  const Curriculum curriculum = make(CurriculumKind::hard_4to1, 10);
  const GraphList graphs = benign_of(curriculum, 1);
  EXPECT_EQ(graphs.size(), 40U);
  EXPECT_EQ(benign_of(curriculum, 10), graphs);
  for (const int64_t g : graphs) EXPECT_GE(difficulty_[static_cast<size_t>(g)], 360.0F);
}

TEST_F(CurriculumTest, EqualDifficultyGoesByIndex) {
  std::ranges::fill(difficulty_, 1.0F);
  GraphList expected(10);
  std::iota(expected.begin(), expected.end(), int64_t{0});
  EXPECT_EQ(benign_of(make(CurriculumKind::kdgat, 10), 1), expected);
}

TEST_F(CurriculumTest, WithoutDifficultyItIsNotKnownYet) {
  EXPECT_FALSE(Curriculum(CurriculumKind::kdgat, training_, shapes_, {}, 10).known());
  EXPECT_TRUE(make(CurriculumKind::kdgat, 10).known());
}

TEST_F(CurriculumTest, WithoutBenignGraphsThereAreTheAttacks) {
  const GraphList attacks(training_.begin() + 400, training_.end());
  const Curriculum curriculum(CurriculumKind::kdgat, attacks, shapes_, difficulty_, 10);
  EXPECT_EQ(curriculum.benign_of(1), 0);
  EXPECT_TRUE(benign_of(curriculum, 1).empty());
}

}  // namespace
}  // namespace plimsoll
