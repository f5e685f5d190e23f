#include "can/tasks/evaluation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "can/tasks/evaluation_answer.h"
#include "io/file.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// Three detectors of three seeds and two rules on two splits, one of them without attacks.
struct Made {
  static constexpr int64_t kWindows = 600;
  GraphSetTables tables;
  std::vector<uint8_t> truth;
  WindowTimes times;
  std::vector<int64_t> time_ns;
  std::vector<EvaluatedList> lists;
  std::vector<DetectorScores> detectors;

  Made() {
    std::mt19937 random(5);
    for (int64_t r = 0; r < 6; ++r)
      tables.recordings.push_back(
          {"rec & <" + std::to_string(r) + ">",
           r < 4 ? "test_01" : "test_02",
           r * 100,
           100,
           r < 4 ? std::optional<std::string>(r < 2 ? "DoS" : "fuzzing") : std::nullopt,
           {}});
    times.timed.assign(6, true);
    times.last_of.assign(6, 1'000);
    times.look_ahead.assign(6, 0);
    for (int64_t g = 0; g < kWindows; ++g) {
      truth.push_back(g < 400 && g % 100 >= 60);
      times.last_frame.push_back(g * 10 + 9);
      times.first_attack.push_back(truth.back() == 1 ? g * 10 : -1);
    }
    for (int64_t frame = 0; frame < kWindows * 10; ++frame) time_ns.push_back(frame * 500'000);
    times.time_ns = time_ns;
    lists.push_back({"test_01", {}, {"a copy"}});
    lists.push_back({"test_02", {}, {}});
    for (int64_t g = 0; g < kWindows; ++g) lists[g < 400 ? 0 : 1].graphs.push_back(g);
    for (const char* name : {"gat_teacher", "gat_student", "vgae_student"})
      for (int64_t seed = 1; seed <= 3; ++seed)
        add(name, seed, false, 2.5 - static_cast<double>(seed) / 4, random);
    add("timing", 0, true, 0.7, random);
    DetectorScores rule{"unknown_id", 0, {{0, 0, 0.5F}}, {}, true};
    for (int64_t g = 0; g < kWindows; ++g)
      rule.scores.push_back(g >= 200 && truth[static_cast<size_t>(g)] == 1);
    detectors.push_back(std::move(rule));
  }

  void add(const char* name, int64_t seed, bool rule, double separation, std::mt19937& random) {
    DetectorScores detector{name, seed, {{0.01, 0.0095, 2.3F}, {0.001, 0.0008, 3.1F}}, {}, rule};
    for (int64_t g = 0; g < kWindows; ++g) {
      double score = truth[static_cast<size_t>(g)] == 1 ? separation : 0;
      for (int i = 0; i < 12; ++i) score += static_cast<double>(random() % 1000) / 1000 - 0.5;
      detector.scores.push_back(static_cast<float>(score));
    }
    detectors.push_back(std::move(detector));
  }
};

RunRecord made_run() {
  RunRecord run;
  run.name = "run <1>";
  run.facts = {{"tool", "plimsoll & co"}};
  for (int64_t seed = 1; seed <= 3; ++seed)
    for (const char* stage : {"autoencoder", "gat_teacher"})
      run.losses.push_back(
          {stage, seed, {"training", "validation"}, {{1, 0.5, 0.1, 0.02}, {0.9, 0.6, 0.2, 0.1}}});
  run.memory = {
      {"autoencoder", 90 << 20, {{"floor", 60 << 20}, {"activations", 30 << 20}}, 85 << 20, 128 << 20},
      {"gat_teacher", 110 << 20, {{"floor", 60 << 20}, {"activations", 50 << 20}}, {}, 128 << 20}};
  run.recipe = "task: detection # <&>\n";
  return run;
}

TEST(EvaluationReport, AnswersInTwoSentencesBeforeItsTables) {
  const Made made;
  const Evaluation evaluation = evaluate({&made.tables, made.truth, &made.times}, made.lists, made.detectors);
  const EvaluationAnswer answer = answer_of(evaluation);
  // test_02 has no attacks that could be found.
  ASSERT_NE(answer.hardest, nullptr);
  EXPECT_EQ(answer.hardest->all.name, "test_01");
  EXPECT_THAT(
      answer.text,
      MatchesRegex("gat_student at 0.1 % finds [0-9.]+ % of the attack windows of test_01, with false alarms "
                   "in [0-9.]+ % of benign "
                   "ones, [0-9.e+]+ an hour of benign traffic, [0-9.e+]+ a day. Its F1 is [01].[0-9]+; the "
                   "best simple rule, unknown_id, reaches [01].[0-9]+[.]"));
  const Markup page = evaluation_report(evaluation, nullptr, made_run());
  const size_t at = page.find("gat_student at 0.1 % finds ");
  EXPECT_LT(at, page.find("<svg"));
  EXPECT_LT(page.find("<svg"), page.find("<table"));
}

TEST(EvaluationReport, MarksTheDetectorThatDetectRuns) {
  Made made;
  std::mt19937 random(6);
  const auto bold = [&made] {
    const Evaluation evaluation =
        evaluate({&made.tables, made.truth, &made.times}, made.lists, made.detectors);
    const Markup report = evaluation_report(evaluation, nullptr, made_run());
    const std::string page(report.begin(), report.end());
    const std::string row = "<tr class=\"chosen\"><td class=\"left\">";
    const size_t at = page.find(row);
    return at == std::string::npos
               ? std::string()
               : page.substr(at + row.size(), page.find('<', at + row.size()) - at - row.size());
  };
  EXPECT_EQ(bold(), "gat_student at 0.1 %");
  made.add("fused", 1, false, 2, random);
  EXPECT_EQ(bold(), "fused at 0.1 %");
}

TEST(EvaluationReport, SaysWhetherLabelsChoseCalibrationWindows) {
  const Made made;
  const Evaluation evaluation = evaluate({&made.tables, made.truth, &made.times}, made.lists, made.detectors);
  const auto page = [&](int64_t calibration) {
    const Markup report = evaluation_report(evaluation, nullptr, made_run(), {}, calibration);
    return std::string(report.begin(), report.end());
  };
  EXPECT_THAT(page(0), HasSubstr("no test label was used"));
  EXPECT_THAT(page(200), Not(HasSubstr("no test label was used")));
  EXPECT_THAT(page(200),
              HasSubstr("at most 200 or a third of it, which are not evaluated. Labels chose these windows"));
}

TEST(EvaluationReport, ShowsEveryDetectorSplitAndStageAndNeedsNoOtherFile) {
  const Made made;
  const Evaluation evaluation = evaluate({&made.tables, made.truth, &made.times}, made.lists, made.detectors);
  const TempFolder folder;
  write_text(
      folder / "published.json",
      R"({"source": "a <paper>", "splits": [{"name": "test_01", "models": [{"name": "X & Y", "f1": 0.5}]}]})");
  const Published published(folder / "published.json");
  const Markup report = evaluation_report(evaluation, &published, made_run());
  const std::string page(report.begin(), report.end());
  for (const char* part :
       {"gat_teacher at 0.1 %", "vgae_student at 1 %", "rule: timing at 1 %", "rule: unknown_id", "±",
        "Left out: a copy", "published: X &amp; Y", "a &lt;paper&gt;", "rec &amp; &lt;3&gt;",
        "One class is absent", "autoencoder: 90 MiB, measured 85 MiB", "budget 128 MiB",
        "task: detection # &lt;&amp;&gt;", "run &lt;1&gt;", "dots show seed 1"})
    EXPECT_THAT(page, HasSubstr(part));
  for (const char* hostile : {"<paper>", "<3>", "http", "src=", "<script", "nan", "inf "})
    EXPECT_THAT(page, Not(HasSubstr(hostile)));
}

}  // namespace
}  // namespace plimsoll
