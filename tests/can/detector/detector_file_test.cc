#include "can/detector/detector_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "can/detector/gat_network.h"
#include "can/live/stream_detector.h"
#include "support/errors.h"
#include "support/made_detector.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

class ADetectorFile : public testing::Test {
 protected:
  std::string refusal(const MadeDetector& detector) const {
    detector.write(path_);
    const std::string error = error_text<InputError>([&] { DetectorFile file(path_); });
    EXPECT_THAT(error, HasSubstr(path_.string()));
    return error;
  }
  int64_t windows_judged() const {
    StreamDetector detector(path_, {});
    detector.begin({});
    const FrameBatch frames = batch_of(together({every(kMs, 0x100, 30), every(kMs, 0x777, 30)}));
    EXPECT_EQ(detector.add(frames.spans()), 60);
    detector.end();
    int64_t windows = 0;
    for (WindowResult result; detector.next(result);) ++windows;
    return windows;
  }

  TempFolder folder_;
  std::filesystem::path path_ = folder_ / "detector.safetensors";
};

TEST_F(ADetectorFile, OfAnyKindJudges) {
  MadeDetector{}.write(path_);
  EXPECT_EQ(windows_judged(), 6);
  MadeDetector{.calibrated = true}.write(path_);
  EXPECT_EQ(windows_judged(), 6);
  MadeDetector{.without = {}}.write(path_);
  EXPECT_EQ(windows_judged(), 6);
  MadeDetector{.features = WindowFeatures::compat, .without = {}, .profile = {}, .fused = false}.write(path_);
  EXPECT_EQ(windows_judged(), 5) << "one that ends where the stream does is no window of compat";
}

TEST_F(ADetectorFile, OfAnotherVehiclesIdsJudgesWhereItKnowsNone) {
  MadeDetector{.profile = {0x100, 0x200, 0x300, 0x777}, .calibrated = true}.write(path_);
  EXPECT_EQ(windows_judged(), 6);
}

// In a window of a few frames, each frame is a large share, for which no levels were learned.
TEST_F(ADetectorFile, DoesNotAlarmAboutWhatIsLeftAtTheEnd) {
  MadeDetector{}.write(path_);
  const auto results = [&](int known, int strange) {
    StreamDetector detector(path_, {.threshold = -1e30F});  // All windows are above this threshold.
    detector.begin({});
    const FrameBatch frames = batch_of(together({every(kMs, 0x100, known), every(kMs, 0x777, strange)}));
    detector.add(frames.spans());
    detector.end();
    std::vector<bool> alarms;
    for (WindowResult result; detector.next(result);) alarms.push_back(result.alarm);
    return alarms;
  };
  EXPECT_EQ(results(20, 0), (std::vector<bool>{true, true}));
  EXPECT_EQ(results(20, 3), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(results(3, 0), std::vector<bool>{true}) << "there is nothing else to evaluate";
}

// The IDs of the profile would select rows that the embedding does not have.
TEST_F(ADetectorFile, ThatIsCalibratedAndKnowsIdsByIndexIsRefused) {
  EXPECT_THAT(refusal({.without = {}, .profile = {0x100, 0x200, 0x300, 0x777}, .calibrated = true}),
              HasSubstr("'plimsoll.calibrated'"));
  EXPECT_THAT(refusal({.features = WindowFeatures::compat,
                       .without = {},
                       .profile = {0x100, 0x200, 0x300, 0x777},
                       .calibrated = true,
                       .fused = false}),
              HasSubstr("'plimsoll.calibrated'"));
}

TEST_F(ADetectorFile, WhoseVocabularyIsNotAscendingIsRefused) {
  EXPECT_THAT(refusal({.ids = {0x200, 0x100}}),
              HasSubstr("'vocabulary.ids' does not hold ascending CAN IDs"));
}

TEST_F(ADetectorFile, GivesNoEmbeddingOfAnIdThatIsOutOfRange) {
  MadeDetector{.without = {}}.write(path_);
  GatNetwork network(SafetensorsView{path_});
  const auto features = static_cast<size_t>(network.config().in_features);
  GraphBlock graph;
  graph.node_ptr = {0, 2};
  graph.edge_ptr = {0, 0};
  graph.y = {0};
  graph.x.assign(2 * features, 0.0F);
  EXPECT_TRUE(std::isfinite(network.score(graph)));
  for (const float index : {3.0F, -1.0F, 1e30F, std::numeric_limits<float>::quiet_NaN()}) {
    graph.x[features] = index;
    EXPECT_THAT(error_text<Failure>([&] { network.score(graph); }), HasSubstr("expected one of 3"));
  }
}

TEST_F(ADetectorFile, WithAnUnknownWordIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(refusal({.more = {{"plimsoll.data", R"({"features":"other","window":"10","stride":"10"})"}}}),
              HasSubstr("found 'other', expected compat or behaviour"));
  const Json config = {{"num_ids", 3}, {"in_features", 3}, {"embedding", 1}, {"layers", 1},
                       {"hidden", 1},  {"heads", 1},       {"fc_layers", 1}};
  for (const char* const key : {"attention", "jk", "pooling"}) {
    Json changed = config;
    changed[key] = "other";
    MadeDetector{.more = {{"plimsoll.config", changed.dump()}}}.write(path_);
    EXPECT_THAT(error_text<InputError>([&] { GatNetwork network(SafetensorsView{path_}); }),
                HasSubstr(std::string(key) + " 'other', expected "));
  }
}

TEST_F(ADetectorFile, WhoseMetadataIsNestedTooDeepOrHasTooManyKeysIsRefused) {
  std::string keys = "{";
  for (int k = 0; k < 100'000; ++k) keys += (k == 0 ? "\"" : ",\"") + std::to_string(k) + "\":0";
  for (const std::string& text : {std::string(200, '[') + std::string(200, ']'), keys + "}"}) {
    for (const char* key : {"plimsoll.data", "plimsoll.without", "plimsoll.thresholds"})
      EXPECT_THAT(refusal({.more = {{key, text}}}), HasSubstr("'" + std::string(key) + "': not JSON"));
    MadeDetector{.more = {{"plimsoll.config", text}}}.write(path_);
    EXPECT_THAT(error_text<InputError>([&] { GatNetwork network(SafetensorsView{path_}); }),
                HasSubstr("'plimsoll.config': not JSON"));
  }
}

}  // namespace
}  // namespace plimsoll
