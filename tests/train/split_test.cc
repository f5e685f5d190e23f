#include "train/split.h"

#include <gtest/gtest.h>

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
  const TrainingSplit split = split_training(
      tables({{"a", "train", 0, 10, {}, {}}, {"b", "test", 0, 5, {}, {}}, {"c", "train", 0, 5, {}, {}}}), 0.2,
      1);
  EXPECT_EQ(split.training, (GraphList{0, 1, 2, 3, 4, 5, 6, 15, 16, 17}));
  EXPECT_EQ(split.validation, (GraphList{8, 9, 19}));
}

TEST(SplitTraining, ACopyIsUsedOnce) {
  const TrainingSplit split = split_training(tables({{"a", "train_1", 0, 10, {}, {}},
                                                     {"a", "train_2", 0, 10, {}, "train_1/a"},
                                                     {"b", "train_2", 0, 10, {}, {}}}),
                                             0.2, 1);
  EXPECT_EQ(split.copies, std::vector<std::string>{"train_2/a"});
  for (const int64_t graph : split.training) EXPECT_TRUE(graph < 10 || graph >= 20);
  for (const int64_t graph : split.validation) EXPECT_TRUE(graph < 10 || graph >= 20);
}

TEST(SplitTraining, ACopyOfATestRecordingStillTrainsOnce) {
  const TrainingSplit split = split_training(tables({{"a", "test", 0, 10, {}, {}},
                                                     {"a", "train", 0, 10, {}, "test/a"},
                                                     {"x", "train", 0, 10, {}, "test/a"}}),
                                             0.2, 0);
  EXPECT_EQ(split.used, std::vector<std::string>{"train/a"});
}

TEST(SplitTraining, NothingToTrainOrValidateOnIsAnInputError) {
  EXPECT_THROW(split_training(tables({{"b", "test", 0, 5, {}, {}}}), 0.2, 1), InputError);
  EXPECT_THROW(split_training(tables({{"b", "train", 0, 3, {}, {}}}), 0.2, 1), InputError);
}

}  // namespace
}  // namespace plimsoll
