#include "can/detector/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "base/error.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

size_t place(const std::string& part) {
  const auto& parts = fused_parts();
  const auto found = std::ranges::find(parts, part, &FusedPart::name);
  EXPECT_NE(found, parts.end()) << part;
  return static_cast<size_t>(found - parts.begin());
}

// A row with these parts; the others are NaN.
std::vector<float> row(const std::map<std::string, float>& values) {
  std::vector<float> parts(fused_parts().size(), kNaN);
  for (const auto& [part, value] : values) parts[place(part)] = value;
  return parts;
}

// Windows in which one part has these values.
FusedRows rows_of(const std::string& part, const std::vector<float>& values) {
  FusedRows rows;
  for (const float value : values) rows.add(row({{part, value}}));
  return rows;
}

// The values step, 2 step, ..., in random order.
std::vector<float> steps(int count, float step) {
  std::vector<float> values;
  for (int i = 1; i <= count; ++i) values.push_back(step * static_cast<float>(i));
  std::shuffle(values.begin(), values.end(), std::mt19937(7));
  return values;
}

double share_above(const Fusion& fusion, const FusedRows& rows, float level) {
  int64_t above = 0;
  for (int64_t w = 0; w < rows.size(); ++w) above += fusion.score(rows.row(w)) > level;
  return static_cast<double>(above) / static_cast<double>(rows.size());
}

TEST(Fusion, MeasuresAPartFromTheValueThatOnePerCentExceedInUnitsOfTheWayFromTheMedian) {
  const FusedRows benign = rows_of("load", steps(1000, 0.01F));
  const Fusion fusion = Fusion::learn(benign);
  // Ten windows exceed 9.9, 500 exceed 5. One exceeds 9.99, but its excess is below 1, so the level stays
  // at 1.
  for (const float value : {0.0F, 5.0F, 9.9F, 12.35F, 14.8F, 100.0F})
    EXPECT_NEAR(fusion.score(row({{"load", value}})), (value - 9.9F) / 4.9F, 1e-5) << value;
}

TEST(Fusion, WhatIsBelowTheLeastEdgeAndScaleIsBenignWhateverBenignWindowsHave) {
  for (const FusedPart& part : fused_parts()) {
    const Fusion fusion = Fusion::learn(rows_of(part.name, std::vector<float>(100, -3.0F)));
    EXPECT_EQ(fusion.score(row({{part.name, 0}})), 0) << part.name;
    EXPECT_LE(fusion.score(row({{part.name, 0.99F * part.min_scale}})), 1) << part.name;
    if (part.name == "held") continue;  // This part ranks windows but raises no alarm.
    EXPECT_GT(fusion.score(row({{part.name, 4 * part.min_scale}})), 1) << part.name;
  }
}

TEST(Fusion, TheWorstPartIsTheScore) {
  FusedRows benign;
  for (int i = 0; i < 100; ++i) benign.add(row({{"unknown", 0}, {"silence", 0}, {"gat", 0}}));
  const Fusion fusion = Fusion::learn(benign);
  const auto window = row({{"unknown", 0.018F}, {"silence", 2}, {"gat", 3}});
  const auto alone = fusion.scores_by_part(window);
  EXPECT_NEAR(alone[place("unknown")], 2, 1e-5);
  EXPECT_NEAR(alone[place("silence")], 4, 1e-5);
  EXPECT_NEAR(alone[place("gat")], 3, 1e-5);
  EXPECT_TRUE(std::isnan(alone[place("load")]));
  EXPECT_EQ(fusion.score(window), alone[place("silence")]);
}

TEST(Fusion, TheScoreIsOnePartsToTheBitWhateverTheScale) {
  std::mt19937 random(3);
  std::exponential_distribution<float> heavy(0.1F);
  FusedRows benign;
  for (int i = 0; i < 3000; ++i) {
    const float once = heavy(random);
    benign.add(row({{"silence", once * once}, {"gat", -heavy(random)}, {"load", heavy(random)}}));
  }
  const Fusion fusion = Fusion::learn(benign);
  EXPECT_NE(fusion.lines().front().level, 1);
  for (int64_t w = 0; w < benign.size(); ++w) {
    const auto alone = fusion.scores_by_part(benign.row(w));
    EXPECT_TRUE(std::ranges::find(alone, fusion.score(benign.row(w))) != alone.end());
  }
}

TEST(Fusion, PartsThatNoWindowHasOrThatAreNamedCountForNothing) {
  FusedRows benign;
  for (int i = 0; i < 100; ++i) benign.add(row({{"unknown", 0}, {"load", 0}}));
  const Fusion fusion = Fusion::learn(benign, {"load"});
  EXPECT_EQ(fusion.score(row({{"unknown", 0}, {"load", 100}, {"vgae", 100}})), 0);
  const auto alone = fusion.scores_by_part(row({{"unknown", 0}, {"load", 100}, {"vgae", 100}}));
  EXPECT_TRUE(std::isnan(alone[place("load")]) && std::isnan(alone[place("vgae")]));
}

TEST(Fusion, AMarginOfExtraIsAnAlarmWhateverBenignWindowsHave) {
  FusedRows benign;
  for (int i = 0; i < 100; ++i)
    benign.add(row({{"silence", i < 99 ? 0.0F : 50.0F}, {"extra", 0.3F * (i % 10)}}));
  const Fusion fusion = Fusion::learn(benign);
  EXPECT_NEAR(fusion.score(row({{"silence", 25}, {"extra", 0}})), 0.5, 1e-5)
      << "the scale is that of the silence";
  EXPECT_NEAR(fusion.score(row({{"silence", 0}, {"extra", 1.25F}})), 1.25, 1e-5);
  EXPECT_NEAR(fusion.scores_by_part(row({{"silence", 0}, {"extra", 0.5F}}))[place("extra")], 0.5, 1e-5);
}

TEST(Fusion, AFrameWithAWrongChecksumIsAnAlarmWhateverBenignWindowsHave) {
  FusedRows benign;
  for (int i = 0; i < 100; ++i)
    benign.add(row({{"silence", i < 99 ? 0.0F : 50.0F}, {"checksum", i % 2 == 0 ? 3.0F : 0.0F}}));
  const Fusion fusion = Fusion::learn(benign);
  EXPECT_EQ(fusion.score(row({{"silence", 0}, {"checksum", 0}})), 0);
  EXPECT_NEAR(fusion.score(row({{"silence", 0}, {"checksum", 1}})), 2, 1e-5);
}

TEST(Fusion, PairsHaveALevelOfTheirOwnWhateverTheScaleOfOtherParts) {
  FusedRows benign;
  for (int i = 0; i < 200; ++i)
    benign.add(row({{"gat", i == 0 ? 90.0F : -1.0F}, {"apart", i < 8 ? 7.0F : 0.0F}}));
  const Fusion fusion = Fusion::learn(benign);
  EXPECT_LT(fusion.score(row({{"gat", 60}, {"apart", 0}})), 1);
  EXPECT_EQ(fusion.score(row({{"gat", -1}, {"apart", 5.9F}})),
            fusion.score(row({{"gat", -1}, {"apart", 0}})));
  EXPECT_NEAR(fusion.score(row({{"gat", -1}, {"apart", 9}})), 1.5, 1e-5);
}

TEST(Fusion, RestlessSignalsRankByTheScaleAndAlarmWhateverItIs) {
  FusedRows benign;
  for (int i = 0; i < 200; ++i)
    benign.add(row({{"silence", i < 199 ? 0.0F : 50.0F}, {"restless", i < 2 ? 5.0F : 0.0F}}));
  const Fusion fusion = Fusion::learn(benign);
  EXPECT_LT(fusion.score(row({{"silence", 0}, {"restless", 3.9F}})), 0.5);
  EXPECT_GT(fusion.score(row({{"silence", 0}, {"restless", 2}})),
            fusion.score(row({{"silence", 0}, {"restless", 1}})));
  EXPECT_NEAR(fusion.score(row({{"silence", 0}, {"restless", 6}})), 1.5, 1e-5);
  const Fusion without = Fusion::learn(benign, {"restless"});
  EXPECT_TRUE(std::isnan(without.scores_by_part(row({{"silence", 0}, {"restless", 6}}))[place("restless")]));
}

TEST(Fusion, ApartCountsAboveTheLineAndHeldBelowIt) {
  FusedRows benign;
  for (int i = 0; i < 100; ++i) benign.add(row({{"apart", 0}, {"held", 0}}));
  const Fusion fusion = Fusion::learn(benign);
  EXPECT_EQ(fusion.score(row({{"apart", 5.9F}, {"held", 0}})), 0);
  EXPECT_NEAR(fusion.score(row({{"apart", 9}, {"held", 0}})), 1.5, 1e-5);
  EXPECT_NEAR(fusion.score(row({{"apart", 0}, {"held", 2}})), 0.5, 1e-5);
  EXPECT_NEAR(fusion.score(row({{"apart", 0}, {"held", 40}})), 0.99, 1e-5);
}

// Tensors of earlier versions, which had fewer parts.
class FusionOfEarlierVersions : public testing::TestWithParam<size_t> {};

TEST_P(FusionOfEarlierVersions, ScoresAsBefore) {
  FusedRows benign;
  for (int i = 0; i < 100; ++i) benign.add(row({{"unknown", 0}, {"transitions", 0}, {"gat", i / 100.0F}}));
  const Fusion fusion = Fusion::learn(benign);
  NamedTensors tensors = fusion.tensors();
  for (const char* const name : {"fusion.edge", "fusion.unit"}) {
    const auto values = values_of<double>(tensors, name, {static_cast<int64_t>(kFusedParts)});
    std::vector<double> before(values.begin(), values.end());
    const auto end = before.begin() + static_cast<int64_t>(kStatistics);
    before.erase(end - static_cast<int64_t>(GetParam()), end);
    tensors[name] = own_tensor<double>(before, {static_cast<int64_t>(before.size())});
  }
  const auto again = Fusion::from_tensors(tensors);
  ASSERT_TRUE(again.has_value());
  for (const float gat : {-3.0F, 0.5F, 9.0F}) {
    const auto parts = row({{"unknown", 0}, {"transitions", 0}, {"restless", 50}, {"gat", gat}});
    EXPECT_EQ(again->score(parts), fusion.score(row({{"unknown", 0}, {"transitions", 0}, {"gat", gat}})));
  }
  tensors["fusion.edge"] = own_tensor<double>(std::vector<double>(3), {3});
  EXPECT_THROW(Fusion::from_tensors(tensors), InputError);
}

INSTANTIATE_TEST_SUITE_P(PartsFewer, FusionOfEarlierVersions, testing::Values(1, 2, 3, 4, 5, 6));

TEST(Fusion, WhatIsNoNumberIsNoCleanBill) {
  FusedRows benign;
  for (int i = 0; i < 100; ++i) benign.add(row({{"unknown", 0}, {"gat", 0}}));
  const Fusion fusion = Fusion::learn(benign);
  EXPECT_TRUE(std::isnan(fusion.score(row({{"unknown", 0}, {"gat", kNaN}}))));
  EXPECT_TRUE(std::isnan(fusion.score(row({{"unknown", 5}, {"gat", kNaN}}))));
  EXPECT_TRUE(std::isnan(fusion.score(row({{"unknown", kNaN}, {"gat", 0}}))));
  // The same holds for a model whose outputs are all NaN.
  const Fusion nothing = Fusion::learn(rows_of("gat", std::vector<float>(100, kNaN)));
  EXPECT_TRUE(std::isnan(nothing.score(row({{"gat", 1}}))));
  benign.add(row({{"unknown", 0}, {"gat", kNaN}}));
  const std::string text = error_text<InputError>([&] { Fusion::learn(benign); });
  EXPECT_NE(text.find("'gat' of 1 of 101 benign windows"), std::string::npos) << text;
  benign.row(100)[place("gat")] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(Fusion::learn(benign), InputError);
  EXPECT_NO_THROW(Fusion::learn(benign, {"gat"}));
}

TEST(Fusion, WhatComesTooSoonIsAnAlarmOnlyWhereTheClassifierDoesNotSpeakAgainst) {
  for (const std::string part : {"early", "early_share"}) {
    FusedRows benign;
    for (int i = 0; i < 100; ++i) benign.add(row({{part, 0}, {"gat", 0}}));
    const Fusion fusion = Fusion::learn(benign);
    // The part's own excess is far above this; support limits it to half a unit above the classifier's
    // excess.
    EXPECT_NEAR(fusion.score(row({{part, 50}, {"gat", -1}})), -0.5, 1e-5) << part;
    EXPECT_NEAR(fusion.score(row({{part, 50}, {"gat", 0}})), 0.5, 1e-5) << part;
    EXPECT_NEAR(fusion.scores_by_part(row({{part, 50}, {"gat", -1}}))[place(part)], -0.5, 1e-5) << part;
    // With a profile of the vehicle itself, `extra` is used instead; without a classifier, the part needs no
    // support.
    EXPECT_EQ(Fusion::learn(benign, {}, Fusion::Timing::by_id).score(row({{part, 50}, {"gat", -1}})), -1)
        << part;
    const Fusion alone = Fusion::learn(benign, {"gat"});
    EXPECT_GT(alone.score(row({{part, 50}, {"gat", -1}})), 10) << part;
  }
  // Other parts need no support.
  FusedRows benign;
  for (int i = 0; i < 100; ++i) benign.add(row({{"surplus", 0}, {"gat", 0}}));
  EXPECT_GT(Fusion::learn(benign).score(row({{"surplus", 1}, {"gat", -50}})), 10);
}

TEST(Fusion, ByAProfileOfTheVehicleItselfTheClassifierRanksAndRaisesNoAlarmAlone) {
  FusedRows benign;
  for (int i = 0; i < 1000; ++i) benign.add(row({{"silence", 0}, {"gat", i / 1000.0F}}));
  const Fusion fusion = Fusion::learn(benign, {}, Fusion::Timing::by_id);
  const auto again = Fusion::from_tensors(fusion.tensors());
  for (const Fusion& loaded : {fusion, *again}) {
    EXPECT_LT(loaded.score(row({{"silence", 0}, {"gat", 1.2F}})),
              loaded.score(row({{"silence", 0}, {"gat", 1.5F}})));
    EXPECT_EQ(loaded.score(row({{"silence", 0}, {"gat", 50}})), 0.99F);
    EXPECT_GT(loaded.score(row({{"silence", 5}, {"gat", -50}})), 9);
    EXPECT_TRUE(std::isnan(loaded.score(row({{"silence", 5}, {"gat", kNaN}}))));
  }
  EXPECT_GT(
      Fusion::learn(benign, {"silence"}, Fusion::Timing::by_id).score(row({{"silence", 0}, {"gat", 50}})), 40)
      << "without statistics it speaks for itself";
  EXPECT_GT(Fusion::learn(benign).score(row({{"silence", 0}, {"gat", 50}})), 40)
      << "so it does on any vehicle";
}

TEST(Fusion, LinesAreThoseOfTheirRatesAndTheStrictestIsOne) {
  std::mt19937 random(11);
  std::exponential_distribution<float> heavy(1);
  FusedRows benign;
  for (int i = 0; i < 5000; ++i) benign.add(row({{"silence", std::pow(heavy(random), 3.0F)}}));
  const Fusion fusion = Fusion::learn(benign);
  ASSERT_EQ(fusion.lines().size(), 2);
  EXPECT_EQ(fusion.lines()[0].target_rate, 0.01);
  EXPECT_EQ(fusion.lines()[1].target_rate, 0.001);
  EXPECT_EQ(fusion.lines()[1].level, 1);
  EXPECT_LT(fusion.lines()[0].level, 1);
  for (const Fusion::Line& line : fusion.lines()) {
    EXPECT_EQ(line.realised_rate, share_above(fusion, benign, line.level));
    EXPECT_LE(line.realised_rate, line.target_rate);
  }
  EXPECT_EQ(share_above(fusion, benign, 1), 0.001);  // There are five of them.
}

TEST(Fusion, TheLineIsNeverBelowOneOnTheScaleOfParts) {
  const FusedRows benign = rows_of("silence", std::vector<float>(1000, 0.25F));
  const Fusion fusion = Fusion::learn(benign);
  for (const Fusion::Line& line : fusion.lines()) {
    EXPECT_EQ(line.level, 1);
    EXPECT_EQ(line.realised_rate, 0);
  }
  EXPECT_LE(fusion.score(row({{"silence", 0.75F}})), 1);
  EXPECT_GT(fusion.score(row({{"silence", 0.76F}})), 1);
}

TEST(Fusion, NeedsAWindow) {
  const std::string text = error_text<InputError>([] { Fusion::learn({}); });
  EXPECT_NE(text.find("no benign window"), std::string::npos) << text;
  EXPECT_NO_THROW(Fusion::learn(rows_of("load", {1})));
}

class FusionTensors : public testing::Test {
 protected:
  FusionTensors() {
    FusedRows benign;
    for (const float value : steps(2000, 0.01F)) benign.add(row({{"load", value * value}, {"gat", -value}}));
    tensors_ = Fusion::learn(benign).tensors();
  }
  // The error for tensors in which one value is replaced.
  std::string refused(const std::string& name, size_t at, double value) {
    NamedTensors bad = tensors_;
    reinterpret_cast<double*>(bad.at(name).data.data())[at] = value;
    return error_text<InputError>([&] { Fusion::from_tensors(bad); });
  }
  NamedTensors tensors_;
};

TEST_F(FusionTensors, GiveTheSameScoresAndLinesBack) {
  const auto again = Fusion::from_tensors(tensors_);
  ASSERT_TRUE(again);
  const NamedTensors written = again->tensors();
  ASSERT_EQ(written.size(), tensors_.size());
  for (const auto& [name, tensor] : tensors_) {
    EXPECT_EQ(written.at(name).shape, tensor.shape) << name;
    EXPECT_TRUE(std::ranges::equal(written.at(name).data, tensor.data)) << name;
  }
  EXPECT_FALSE(Fusion::from_tensors({}));
}

TEST_F(FusionTensors, ThatAreMissingOrMisshapenAreNamed) {
  for (const std::string name : {"fusion.unit", "fusion.lines", "fusion.scale"}) {
    NamedTensors bad = tensors_;
    bad.erase(name);
    EXPECT_NE(error_text<InputError>([&] { Fusion::from_tensors(bad); }).find(name), std::string::npos);
    bad.emplace(name, own_tensor<double>(std::vector<double>(5, 1.0), {5}));
    EXPECT_NE(error_text<InputError>([&] { Fusion::from_tensors(bad); }).find(name), std::string::npos);
  }
}

TEST_F(FusionTensors, OfImpossibleValuesAreRefused) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const size_t load = place("load");
  for (const auto& [name, at, value] : std::vector<std::tuple<std::string, size_t, double>>{
           {"fusion.unit", load, 0},
           {"fusion.unit", load, -1},
           {"fusion.unit", load, kNaN},
           {"fusion.unit", load, kInfinity},
           {"fusion.edge", load, kInfinity},
           {"fusion.edge", place("vgae"), 1},  // The edge has no unit.
           {"fusion.scale", 0, 0.5},
           {"fusion.scale", 0, kNaN},
           {"fusion.scale", 0, kInfinity},
           {"fusion.lines", 0, 0},  // This value is a rate.
           {"fusion.lines", 0, kNaN},
           {"fusion.lines", 1, 2},
           {"fusion.lines", 2, kInfinity},
       })
    EXPECT_NE(refused(name, at, value).find("impossible"), std::string::npos) << name << " " << value;
  NamedTensors none = tensors_;
  none["fusion.lines"] = own_tensor<double>({}, {0, 3});
  EXPECT_THROW(Fusion::from_tensors(none), InputError);
}

}  // namespace
}  // namespace plimsoll
