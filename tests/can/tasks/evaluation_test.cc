#include "can/tasks/evaluation.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "base/error.h"
#include "can/tasks/evaluated_lists.h"
#include "can/tasks/evaluation_json.h"
#include "can/tasks/evaluation_summary.h"
#include "can/tasks/evaluation_table.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

// Three recordings of four windows of ten frames each, a millisecond apart. "a" is attacked from its frame 15
// on, "b" from its frame 4 on, "c" never.
struct Made {
  GraphSetTables tables;
  std::vector<uint8_t> truth = {0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0};
  WindowTimes times;
  std::vector<int64_t> time_ns;
  EvaluatedData data;

  Made() {
    tables.recordings = {
        {"a", "test", 0, 4, "DoS", {}}, {"b", "test", 4, 4, "fuzzing", {}}, {"c", "test", 8, 4, {}, {}}};
    for (int64_t frame = 0; frame < 120; ++frame) time_ns.push_back(1'000'000 * frame);
    for (int64_t g = 0; g < 12; ++g) times.last_frame.push_back(g * 10 + 9);
    for (const int64_t attack : {-1, 15, 20, -1, 44, 50, 60, 70, -1, -1, -1, -1})
      times.first_attack.push_back(attack);
    times.time_ns = time_ns;
    times.timed = {true, true, true};
    times.last_of = {39, 79, 119};
    times.look_ahead = {0, 0, 0};
    data = {&tables, truth, &times};
  }
  EvaluatedList list() const { return {"test", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {}}; }
};

DetectorScores detector(std::vector<float> scores, int64_t seed = 1) {
  DetectorScores made{"gat", seed, {{0.01, 0.005, 0.5F}}, {}, false};
  made.scores.assign(scores.begin(), scores.end());
  return made;
}

const std::vector<float> kScores = {.9F, .1F, .8F, .2F, .1F, .3F, .2F, .1F, .7F, .1F, .2F, .3F};

TEST(Judge, CountsOverallByAttackAndByRecording) {
  const Made made;
  const std::vector<EvaluatedList> lists = {made.list()};
  const std::vector<DetectorScores> detectors = {detector(kScores)};
  const Evaluation evaluation = evaluate(made.data, lists, detectors);
  ASSERT_EQ(evaluation.splits.size(), 1U);
  const EvaluatedSplit& split = evaluation.splits[0];
  EXPECT_EQ(split.all.graphs, 12);
  EXPECT_EQ(split.all.attack_graphs, 6);
  EXPECT_EQ(split.all.recordings, 3);
  const ConfusionCounts& confusion = split.all.detectors[0].confusion;
  EXPECT_EQ(confusion.true_positives, 1);
  EXPECT_EQ(confusion.false_positives, 2);
  EXPECT_EQ(confusion.true_negatives, 4);
  EXPECT_EQ(confusion.false_negatives, 5);
  ASSERT_EQ(split.attacks.size(), 3U);
  EXPECT_EQ(split.attacks[0].name, "DoS");
  EXPECT_EQ(split.attacks[0].detectors[0].confusion.f1(), 2.0 / 4);
  EXPECT_EQ(split.attacks[1].name, kAttackFree);
  EXPECT_EQ(split.attacks[1].detectors[0].confusion.f1(), std::nullopt);
  EXPECT_EQ(split.attacks[1].detectors[0].auc, std::nullopt);
  EXPECT_EQ(split.attacks[1].detectors[0].confusion.false_positive_rate(), 0.25);
  ASSERT_EQ(split.recordings.size(), 3U);
  EXPECT_EQ(split.recordings[1].name, "b");
  EXPECT_EQ(split.recordings[1].detectors[0].confusion.recall(), 0);
}

TEST(Judge, DelayRunsFromTheFirstAttackFrameToTheEndOfAFlaggedWindow) {
  Made made;
  const std::vector<EvaluatedList> lists = {made.list()};
  const std::vector<DetectorScores> detectors = {detector(kScores)};
  const EvaluatedSplit split = evaluate(made.data, lists, detectors).splits[0];
  // In "a" window 0 is flagged before the attack, which is not a detection; window 2 ends with frame 29.
  EXPECT_EQ(split.recordings[0].detectors[0].delay.frames(), 29 - 15);
  EXPECT_EQ(split.recordings[0].detectors[0].delay.milliseconds(), 29 - 15);
  EXPECT_EQ(split.recordings[1].detectors[0].delay.frames(), std::nullopt);
  EXPECT_EQ(split.recordings[2].detectors[0].delay.recordings, 0);
  EXPECT_EQ(split.all.detectors[0].delay.recordings, 2);
  EXPECT_EQ(split.all.detectors[0].delay.detected, 1);
  EXPECT_EQ(split.all.detectors[0].delay.frames(), 14);

  made.times.timed[0] = false;
  const EvaluatedSplit untimed = evaluate(made.data, lists, detectors).splits[0];
  EXPECT_EQ(untimed.all.detectors[0].delay.frames(), 14);
  EXPECT_EQ(untimed.all.detectors[0].delay.milliseconds(), std::nullopt);
}

TEST(Judge, DelayRunsOnAsFarAsTheDetectorLooksAheadAndTheRecordingGoes) {
  Made made;
  const std::vector<EvaluatedList> lists = {made.list()};
  std::vector<DetectorScores> detectors = {detector(kScores)};
  detectors[0].looks_ahead = true;
  const auto frames = [&](int64_t look_ahead) {
    made.times.look_ahead[0] = look_ahead;
    return evaluate(made.data, lists, detectors).splits[0].all.detectors[0].delay.frames();
  };
  EXPECT_EQ(frames(4), 33 - 15);
  EXPECT_EQ(frames(100), 39 - 15);
  detectors[0].looks_ahead = false;
  EXPECT_EQ(frames(4), 29 - 15);
}

TEST(Judge, DelayOfAPartOfARecordingBeginsThere) {
  const Made made;
  const std::vector<EvaluatedList> lists = {{"validation", {6, 7}, {}}};
  const std::vector<DetectorScores> detectors = {detector({0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0})};
  const EvaluatedSplit split = evaluate(made.data, lists, detectors).splits[0];
  EXPECT_EQ(split.all.detectors[0].delay.frames(), 79 - 60);
}

TEST(Judge, FalseAlarmsAreCountedByTheHourOfBenignTraffic) {
  Made made;
  const std::vector<EvaluatedList> lists = {made.list()};
  const std::vector<DetectorScores> detectors = {detector(kScores)};
  constexpr double kHour = 3.6e6;  // Milliseconds in an hour.
  const auto hourly = [&](auto recording) {
    return evaluate(made.data, lists, detectors)
        .splits[0]
        .recordings[recording]
        .detectors[0]
        .false_alarms_per_hour();
  };
  // In "a" the first window is not timed and the last one is benign; in "c" windows 9, 10 and 11 are benign.
  EXPECT_NEAR(hourly(0U).value(), 1 / (10 / kHour), 1e-6);
  EXPECT_EQ(hourly(1U), std::nullopt);
  EXPECT_NEAR(hourly(2U).value(), 1 / (30 / kHour), 1e-6);
  const EvaluatedGroup all = evaluate(made.data, lists, detectors).splits[0].all;
  EXPECT_NEAR(all.detectors[0].false_alarms_per_hour().value(), 2 / (40 / kHour), 1e-6);
  EXPECT_EQ(
      evaluation_json(evaluate(
          made.data, lists, detectors))["splits"][0]["recordings"][1]["models"][0]["false_alarms_per_hour"],
      nullptr);
  // A bus that sleeps and a clock that is set back do not count as traffic.
  for (size_t frame = 100; frame < 110; ++frame) made.time_ns[frame] += 61'000'000'000;
  EXPECT_NEAR(hourly(2U).value(), 1 / (10 / kHour), 1e-6);
  made.times.timed[2] = false;
  EXPECT_EQ(hourly(2U), std::nullopt);
}

TEST(Judge, AScoreThatIsNoNumberIsRefused) {
  const Made made;
  const std::vector<EvaluatedList> lists = {made.list()};
  std::vector<float> scores = kScores;
  scores[3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<DetectorScores> detectors = {detector(scores)};
  EXPECT_THROW(evaluate(made.data, lists, detectors), InputError);
}

TEST(Judge, ScoresStandAtTheirGraphsAndThresholdsComeFromBenignOnes) {
  const Made made;
  const std::vector<EvaluatedList> lists = {{"validation", {1, 3, 8}, {}}};
  const DetectorScores scores = score_lists("gat", 7, 12, lists, [](std::span<const int64_t> graphs) {
    return Vector<float, Tag::columns>(graphs.begin(), graphs.end());
  });
  EXPECT_EQ(scores.scores[3], 3);
  EXPECT_TRUE(std::isnan(scores.scores[0]));
  const auto thresholds = thresholds_from(scores, lists[0].graphs, made.truth);
  ASSERT_EQ(thresholds.size(), 2U);
  EXPECT_EQ(thresholds[0].level, 8);  // These are the scores of windows 3 and 8; window 1 is an attack.
  EXPECT_EQ(thresholds[0].realised_rate, 0);
}

TEST(Summary, IsTheMeanAndSpreadOverSeedsAtWhichAFigureIsDefined) {
  const Made made;
  const std::vector<EvaluatedList> lists = {made.list()};
  std::vector<DetectorScores> detectors;
  detectors.push_back(detector(kScores, 1));
  detectors.push_back(detector({.9F, .9F, .9F, .1F, .1F, .1F, .1F, .1F, .1F, .1F, .1F, .1F}, 2));
  detectors.push_back(detector(std::vector<float>(12, 0), 3));
  const Evaluation evaluation = evaluate(made.data, lists, detectors);
  const auto summaries = summarise(evaluation.splits[0].all.detectors);
  ASSERT_EQ(summaries.size(), 1U);
  EXPECT_EQ(summaries[0].seeds, (std::vector<int64_t>{1, 2, 3}));
  const Spread precision = summaries[0].at(Figure::precision).value();
  EXPECT_EQ(precision.seeds, 2);  // The third seed flags nothing.
  EXPECT_NEAR(precision.mean, (1.0 / 3 + 2.0 / 3) / 2, 1e-12);
  EXPECT_NEAR(precision.deviation.value(), std::sqrt(2 * (1.0 / 6) * (1.0 / 6)), 1e-12);
  EXPECT_EQ(summaries[0].at(Figure::recall)->seeds, 3);
  EXPECT_EQ(summaries[0].attacked, 6);
  EXPECT_EQ(summaries[0].missed, 4);

  const Json json = evaluation_json(evaluation);
  const Json& split = json["splits"][0];
  EXPECT_EQ(split["models"].size(), 3U);
  EXPECT_TRUE(split["models"][2]["precision"].is_null());
  EXPECT_EQ(split["models"][0]["validation_fpr"], 0.005);
  EXPECT_EQ(split["summary"][0]["precision"]["seeds"], 2);
  EXPECT_EQ(split["recordings"][2]["attack"], nullptr);
  EXPECT_NE(evaluation_table(evaluation, nullptr).find("0.500±0.236"), std::string::npos);
}

TEST(ListsToJudge, LeaveOutWhatTrainedAndNameIt) {
  GraphSetTables tables;
  tables.recordings = {{"x", "train", 0, 3, {}, {}, "X"},
                       {"copy", "test", 3, 2, {}, {}, "X"},
                       {"y", "test", 5, 2, {}, {}, "Y"}};
  std::optional<TrainingSplit> split(std::in_place);
  split->validation = {2};
  const auto lists = lists_to_evaluate(tables, {"X"}, split, "");
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[0].name, "validation");
  EXPECT_EQ(lists[1].graphs, (GraphList{5, 6}));
  EXPECT_EQ(lists[1].left_out, std::vector<std::string>{"copy"});
  EXPECT_EQ(lists_to_evaluate(tables, {"X"}, split, "test").size(), 1U);
  EXPECT_THROW(lists_to_evaluate(tables, {"X"}, split, "tset"), UsageError);
  tables.recordings.resize(1);
  EXPECT_THROW(lists_to_evaluate(tables, {"X"}, std::nullopt, ""), InputError);
}

}  // namespace
}  // namespace plimsoll
