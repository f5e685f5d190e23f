#include "engine/data/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "support/errors.h"

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

TEST(SplitTraining, TextsOfRecordingsStandInTheLedger) {
  std::vector<GraphRange> recordings;
  for (int i = 0; i < 1000; ++i)
    recordings.push_back({"a recording with a long name " + std::to_string(i), "train", 0, 10, {}, {}});
  const GraphSetTables set_tables = tables(recordings);
  const int64_t before = Ledger::process().held(Tag::columns);
  int64_t lists = 0;
  int64_t texts = 0;
  {
    const TrainingSplit split = split_by_time(set_tables, 0.2, 1);
    lists = static_cast<int64_t>((split.training.capacity() + split.validation.capacity()) * sizeof(int64_t));
    for (const auto* list : {&split.used, &split.contents})
      for (const std::string& text : *list) texts += static_cast<int64_t>(sizeof(text) + text.capacity());
    EXPECT_GE(Ledger::process().held(Tag::columns) - before, lists + texts);
  }
  EXPECT_EQ(Ledger::process().held(Tag::columns), before);
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

GraphRange recording(std::string name, int64_t graphs, std::optional<std::string> attack = {},
                     std::string split = "train") {
  return {std::move(name), std::move(split), 0, graphs, std::move(attack), {}};
}

// Twelve recordings of 10 graphs: five without an attack, five with DoS, one with fuzzing, and one for
// testing.
GraphSetTables garage() {
  std::vector<GraphRange> recordings;
  for (const char* name : {"a", "b", "c", "d", "e"}) recordings.push_back(recording(name, 10));
  for (const char* name : {"f", "g", "h", "i", "j"}) recordings.push_back(recording(name, 10, "DoS"));
  recordings.push_back(recording("k", 10, "fuzzing"));
  recordings.push_back(recording("l", 10, "DoS", "test"));
  return tables(recordings);
}

// Recordings of the garage with graphs in the list, which must contain each of them completely.
std::set<int64_t> whole_recordings(const GraphList& graphs) {
  std::map<int64_t, int> counts;
  for (const int64_t g : graphs) ++counts[g / 10];
  std::set<int64_t> found;
  for (const auto& [r, count] : counts) {
    EXPECT_EQ(count, 10) << r;
    found.insert(r);
  }
  return found;
}

TEST(SplitByRecording, HoldsOutAShareOfTheRecordingsOfEachAttackWhole) {
  for (const auto& [share, held_out] : std::map<double, int>{{0.05, 1}, {0.2, 1}, {0.4, 2}, {0.9, 4}}) {
    const TrainingSplit split = split_by_recording(garage(), share, 1);
    const std::set<int64_t> training = whole_recordings(split.training);
    const std::set<int64_t> validation = whole_recordings(split.validation);
    const auto count = [&](int64_t first, int64_t last) {
      return std::ranges::count_if(validation, [&](int64_t r) { return r >= first && r <= last; });
    };
    EXPECT_EQ(count(0, 4), held_out) << share;
    EXPECT_EQ(count(5, 9), held_out) << share;
    EXPECT_EQ(count(10, 11), 0) << "a single recording trains, and that of a test does neither";
    EXPECT_EQ(training.size() + validation.size(), 11U);
    for (const int64_t r : training) EXPECT_FALSE(validation.contains(r));
  }
}

TEST(SplitByRecording, DependsOnTheSeedAlone) {
  const auto validation = [](uint64_t seed) { return split_by_recording(garage(), 0.2, seed).validation; };
  std::set<GraphList> drawn;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(validation(seed), validation(seed));
    drawn.insert(validation(seed));
  }
  EXPECT_GT(drawn.size(), 5U);
}

TEST(SplitByRecording, ACopyIsUsedOnce) {
  GraphSetTables twice = garage();
  for (GraphRange& recording : twice.recordings)
    recording.content = recording.name == "b" ? "a" : recording.name;
  const TrainingSplit split = split_by_recording(twice, 0.4, 1);
  EXPECT_EQ(split.copies, std::vector<std::string>{"train/b"});
  EXPECT_FALSE(whole_recordings(split.training).contains(1));
  EXPECT_FALSE(whole_recordings(split.validation).contains(1));
}

TEST(SplitByRecording, WhatCannotBeSplitIsRefused) {
  EXPECT_THROW(split_by_recording(tables({recording("a", 10)}), 0.2, 1), InputError);
  EXPECT_THROW(split_by_recording(tables({recording("a", 10), recording("b", 10, "DoS")}), 0.2, 1),
               InputError);
  EXPECT_THROW(split_by_recording(tables({recording("a", 10), recording("b", 0)}), 0.2, 1), InputError);
  EXPECT_THROW(split_by_recording(tables({recording("a", 10, {}, "test")}), 0.2, 1), InputError);
}

TEST(LeaveOut, RecordingsOfTheAttackNeitherTrainNorValidate) {
  for (const TrainingSplit& split :
       {split_by_time(garage(), 0.2, 1, {"DoS"}), split_by_recording(garage(), 0.2, 1, {"DoS"})}) {
    for (const GraphList* list : {&split.training, &split.validation})
      for (const int64_t g : *list) EXPECT_TRUE(g < 50 || (g >= 100 && g < 110)) << g;
    ASSERT_EQ(split.left_out.size(), 1U);
    EXPECT_EQ(whole_recordings(split.left_out.at("DoS")), (std::set<int64_t>{5, 6, 7, 8, 9}));
    EXPECT_EQ(split.contents, training_contents(garage(), {"DoS"}));
    EXPECT_EQ(split.contents.size(), 6U);
  }
}

TEST(LeaveOut, WhatTrainsUnderAnotherNameIsNotJudgedAsLeftOut) {
  GraphSetTables twice = tables({recording("a", 10, "DoS"), recording("b", 10, "DoS"), recording("c", 10)});
  for (GraphRange& recording : twice.recordings) recording.content = recording.name == "b" ? "b" : "same";
  const TrainingSplit split = split_by_time(twice, 0.2, 1, {"DoS"});
  EXPECT_EQ(split.used, std::vector<std::string>{"train/c"});
  EXPECT_EQ(split.copies, std::vector<std::string>{"train/a"});
  EXPECT_EQ(whole_recordings(split.left_out.at("DoS")), std::set<int64_t>{1});
}

TEST(LeaveOut, AnUnknownAttackIsRefusedWithThoseThereAre) {
  const std::string error = error_text<UsageError>([] { split_by_time(garage(), 0.2, 1, {"DoS", "gear"}); });
  EXPECT_NE(error.find("'gear'"), std::string::npos) << error;
  EXPECT_NE(error.find("DoS, fuzzing"), std::string::npos) << error;
  EXPECT_THROW(split_by_recording(garage(), 0.2, 1, {"dos"}), UsageError);
  EXPECT_THROW(split_by_time(tables({recording("f", 10, "DoS")}), 0.2, 1, {"DoS"}), InputError);
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

int64_t classes_of(const GraphList& list, int classes) {
  std::set<int64_t> found;
  for (const int64_t g : list) found.insert(g % classes);
  return std::ssize(found);
}

// Two graphs per class: a share of a class rounds to none or to all.
TEST(SplitByGraph, SharesOfSmallClassesAddUp) {
  const auto shapes = labelled(60, 30);
  const GraphSetTables tables = with_splits({{"all", "", 0, 60, {}, {}}});
  const TrainingSplit split = split_by_graph(tables, shapes, 0.2, 0.1, 5);
  EXPECT_EQ(split.validation.size(), 12U);
  EXPECT_EQ(split.test.size(), 6U);
  EXPECT_EQ(split.training.size(), 42U);
  EXPECT_EQ(classes_of(split.validation, 30), 12);
  EXPECT_EQ(classes_of(split.training, 30), 30);  // Each class has at least one graph.
  // The seed decides which classes have validation graphs.
  const TrainingSplit other = split_by_graph(tables, shapes, 0.2, 0.1, 6);
  std::set<int64_t> classes[2];
  for (const int64_t g : split.validation) classes[0].insert(g % 30);
  for (const int64_t g : other.validation) classes[1].insert(g % 30);
  EXPECT_NE(classes[0], classes[1]);
  EXPECT_THROW(split_by_graph(tables, shapes, 0.2, 0, 5, /*rule=*/1), InputError);
}

TEST(SplitByGraph, ClassesOfFourValidate) {
  const auto shapes = labelled(400, 100);
  const GraphSetTables tables = with_splits({{"all", "", 0, 400, {}, {}}});
  const TrainingSplit split = split_by_graph(tables, shapes, 0.1, 0, 1);
  EXPECT_EQ(split.validation.size(), 40U);
  EXPECT_EQ(classes_of(split.training, 100), 100);
  EXPECT_THROW(split_by_graph(tables, shapes, 0.1, 0, 1, /*rule=*/1), InputError);
}

// Each class gets at least its share, rounded down, and at most one graph more.
TEST(SplitByGraph, EachClassGetsItsShareToOneGraph) {
  std::vector<GraphShape> shapes;
  for (const int count : {1, 2, 3, 7, 50, 137})
    for (int i = 0; i < count; ++i) {
      GraphShape shape;
      shape.label = count;
      shapes.push_back(shape);
    }
  const GraphSetTables tables = with_splits({{"all", "", 0, 200, {}, {}}});
  for (const double share : {0.05, 0.2, 0.35, 0.6}) {
    const TrainingSplit split = split_by_graph(tables, shapes, share, 0.1, 3);
    std::map<int32_t, int64_t> training, validation;
    for (const int64_t g : split.training) ++training[shapes[static_cast<size_t>(g)].label];
    for (const int64_t g : split.validation) ++validation[shapes[static_cast<size_t>(g)].label];
    EXPECT_EQ(split.validation.size(), static_cast<size_t>(share * 200 + 0.5)) << share;
    for (const int count : {1, 2, 3, 7, 50, 137}) {
      EXPECT_GE(training[count], 1) << count;
      EXPECT_LT(std::abs(static_cast<double>(validation[count]) - share * count), 1) << count << " " << share;
    }
  }
}

// Runs made before rule 2 have this split.
TEST(SplitByGraph, Rule1RoundsTheSharesOfEachClass) {
  const auto shapes = labelled(100, 3);
  const GraphSetTables tables = with_splits({{"all", "", 0, 100, {}, {}}});
  const TrainingSplit split = split_by_graph(tables, shapes, 0.25, 0.1, 5, /*rule=*/1);
  Hasher hasher;
  for (const GraphList* list : {&split.training, &split.validation, &split.test}) {
    hasher.add(std::span<const int64_t>(*list));
    hasher.add("|", 1);
  }
  EXPECT_EQ(hasher.hex64(), "f52dbde940cd1e48");
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
