#include "train/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace plimsoll {
namespace {

GraphSetTables tables(std::vector<GraphRange> recordings) {
  GraphSetTables result;
  for (GraphRange& recording : recordings) {
    recording.first_graph = result.recordings.empty()
                                ? 0
                                : result.recordings.back().first_graph + result.recordings.back().graphs;
    result.recordings.push_back(recording);
  }
  return result;
}

TEST(SplitTraining, HoldsOutTheEndOfEachRecordingBehindAnEmbargo) {
  const TrainingSplit split = split_by_time(
      tables({{"a", "train", 0, 10, {}, {}}, {"b", "test", 0, 5, {}, {}}, {"c", "train", 0, 5, {}, {}}}), 0.2,
      1);
  EXPECT_EQ(split.training, (GraphList{0, 1, 2, 3, 4, 5, 6, 15, 16, 17}));
  EXPECT_EQ(split.validation, (GraphList{8, 9, 19}));
}

TEST(SplitTraining, ACopyIsUsedOnce) {
  const TrainingSplit split = split_by_time(tables({{"a", "train_1", 0, 10, {}, {}},
                                                    {"a", "train_2", 0, 10, {}, "train_1/a"},
                                                    {"b", "train_2", 0, 10, {}, {}}}),
                                            0.2, 1);
  EXPECT_EQ(split.copies, std::vector<std::string>{"train_2/a"});
  for (const int64_t graph : split.training) EXPECT_TRUE(graph < 10 || graph >= 20);
  for (const int64_t graph : split.validation) EXPECT_TRUE(graph < 10 || graph >= 20);
}

TEST(SplitTraining, ACopyOfATestRecordingStillTrainsOnce) {
  const TrainingSplit split = split_by_time(tables({{"a", "test", 0, 10, {}, {}},
                                                    {"a", "train", 0, 10, {}, "test/a"},
                                                    {"x", "train", 0, 10, {}, "test/a"}}),
                                            0.2, 0);
  EXPECT_EQ(split.used, std::vector<std::string>{"train/a"});
}

TEST(SplitTraining, NothingToTrainOrValidateOnIsAnInputError) {
  EXPECT_THROW(split_by_time(tables({{"b", "test", 0, 5, {}, {}}}), 0.2, 1), InputError);
  EXPECT_THROW(split_by_time(tables({{"b", "train", 0, 3, {}, {}}}), 0.2, 1), InputError);
}

std::vector<GraphShape> labelled(int64_t graphs, int classes) {
  std::vector<GraphShape> shapes(static_cast<size_t>(graphs));
  for (int64_t g = 0; g < graphs; ++g)
    shapes[static_cast<size_t>(g)].label = static_cast<int32_t>(g % classes);
  return shapes;
}

GraphSetTables with_splits(std::vector<GraphRange> splits) {
  GraphSetTables tables;
  tables.splits = std::move(splits);
  return tables;
}

TEST(SplitByGraph, EveryGraphIsOnOneSideAndSharesHoldForEveryLabel) {
  const auto shapes = labelled(300, 3);
  const GraphSetTables tables = with_splits({{"all", "", 0, 300, {}, {}}});
  const TrainingSplit split = split_by_graph(tables, shapes, 0.2, 0.1, 5);
  std::set<int64_t> all;
  for (const GraphList* list : {&split.training, &split.validation, &split.test})
    for (const int64_t g : *list) EXPECT_TRUE(all.insert(g).second) << g;
  EXPECT_EQ(all.size(), 300U);
  for (int label = 0; label < 3; ++label) {
    const auto count = [&](const GraphList& list) {
      return std::count_if(list.begin(), list.end(), [&](int64_t g) { return g % 3 == label; });
    };
    EXPECT_EQ(count(split.validation), 20);
    EXPECT_EQ(count(split.test), 10);
  }
}

TEST(SplitByGraph, DependsOnTheSeedAlone) {
  const auto shapes = labelled(100, 2);
  const GraphSetTables tables = with_splits({{"all", "", 0, 100, {}, {}}});
  EXPECT_EQ(split_by_graph(tables, shapes, 0.2, 0, 1).validation,
            split_by_graph(tables, shapes, 0.2, 0, 1).validation);
  EXPECT_NE(split_by_graph(tables, shapes, 0.2, 0, 1).validation,
            split_by_graph(tables, shapes, 0.2, 0, 2).validation);
}

TEST(SplitByGraph, TakesTheSplitsThatTrainWhereThereAreSuch) {
  const auto shapes = labelled(100, 2);
  const GraphSetTables tables = with_splits({{"train", "", 0, 60, {}, {}}, {"test", "", 60, 40, {}, {}}});
  const TrainingSplit split = split_by_graph(tables, shapes, 0.2, 0, 1);
  EXPECT_EQ(split.training.size() + split.validation.size(), 60U);
  EXPECT_LT(split.training.back(), 60);
}

TEST(SplitByGraph, TooFewGraphsAreRefused) {
  const GraphSetTables tables = with_splits({{"all", "", 0, 2, {}, {}}});
  EXPECT_THROW(split_by_graph(tables, labelled(2, 2), 0.2, 0, 1), InputError);
  EXPECT_THROW(split_by_graph(tables, labelled(2, 2), 0.9, 0.9, 1), InputError);
}

}  // namespace
}  // namespace plimsoll
