#include "can/recipe/can_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/hash.h"
#include "config/earlier_runs.h"
#include "config/foreign_names.h"
#include "config/identity.h"
#include "config/known_recipes.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// All tests of this program read recipes with the sections of CAN.
const bool kRegistered = (register_can_recipe(), true);

Recipe parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_recipe(text, "r.yaml", overrides);
}

CanSections can_of(const Recipe& recipe) {
  return can_sections(recipe);
}

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return error_text<UsageError>([&] { parse(text, overrides); });
}

std::string hash_of(const std::string& text) {
  Hasher hasher;
  hasher.add(text.data(), text.size());
  return hasher.hex64();
}

// The texts of the first version, whose runs must be able to continue: if either hash changed, all of them
// would be refused. A new key changes neither, because with_earlier_rules() gives it the value that versions
// without it had.
TEST(CanIdentity, IsThatOfTheFirstVersion) {
  EXPECT_EQ(hash_of(identity_yaml(with_earlier_rules({}))), "aa96c6f0bedf707c");
  const Recipe other = parse(
      "task: distillation\nseed: 7\ndata: {features: behaviour, window: 50ms, without: [known]}\nsplit: {by: "
      "recording}\n"
      "training: {lanes: 8, block: {preset: gpu}}\nteacher: {gat: {preset: old_teacher}}\n"
      "paths: {cutoff: 2.5}\nsampling: {fan_outs: [3, -1]}\n");
  EXPECT_EQ(hash_of(identity_yaml(with_earlier_rules(other))), "71a6277c3842f842");
}

// Returns the text of a value that differs from the key's value.
std::string another_value(const RecipeKey& key) {
  std::vector<std::string> candidates = {"3", "4", "0.25", "[7, 5, 3]", "auto"};
  if (!key.words.empty()) candidates.assign(key.words.begin(), key.words.end());
  const std::string before = key.text();
  for (const std::string& text : candidates) {
    try {
      key.read({text, "test"});
      if (key.text() != before) return text;
    } catch (const UsageError&) {
    }
  }
  ADD_FAILURE() << key.name << " has one value";
  return before;
}

TEST(CanSections, EveryKeyIsPrintedReadBackAndOverridden) {
  Recipe names;
  const RecipeKeys known = recipe_keys(names);
  for (const RecipePart& part : recipe_parts())
    for (const std::string_view name : part.frozen_keys) {
      SCOPED_TRACE(name);
      ASSERT_TRUE(known.find(name));
      Recipe changed = parse("data: {features: behaviour}");
      const RecipeKeys keys = recipe_keys(changed);
      const std::string value = another_value(*keys.find(name));
      const std::string yaml = recipe_yaml(changed);
      EXPECT_EQ(recipe_yaml(parse(yaml)), yaml);
      Recipe by_hand = parse("data: {features: behaviour}", {std::string(name) + "=" + value});
      const RecipeKeys given = recipe_keys(by_hand);
      EXPECT_EQ(given.find(name)->text(), keys.find(name)->text());
    }
}

TEST(CanSections, HaveTheDefaultsOfTheDocumentation) {
  const Recipe recipe;
  EXPECT_EQ(recipe.task, "detection");
  EXPECT_EQ(can_sections(recipe).windows.features, WindowFeatures::compat);
  EXPECT_EQ(can_sections(recipe).windows.window.value, 100);
  EXPECT_THAT(refusal("task: detecton"),
              HasSubstr("expected autoencoder|detection|distillation|graph_classification|"));
}

TEST(CanSections, AreAnsweredAsSections) {
  EXPECT_THAT(refusal("gat: 5"),
              HasSubstr("r.yaml:1:1: 'gat' is a section, found '5', expected its keys, such as "
                        "gat: {preset: ...}"));
  EXPECT_THAT(refusal("teacher: {gat: large}"),
              HasSubstr("'teacher.gat' is a section, found 'large', expected its keys, such as teacher.gat: "
                        "{preset: large}"));
  EXPECT_THAT(refusal("\ndata:\n    window: 1"),
              HasSubstr("r.yaml:3:5: data.window is 1, expected 2 to 65535"));
  EXPECT_THAT(refusal("data: {window: 65536}"), HasSubstr("expected 2 to 65535"));
  EXPECT_THAT(refusal("data: {features: compact}"),
              HasSubstr("r.yaml:1:8: data.features is 'compact', expected compat|behaviour; did you mean "
                        "'compat'?"));
}

TEST(CanSections, KeysCalledLeaveOutThoseOfTeachers) {
  EXPECT_EQ(keys_called("heads"), "gat.heads or vgae.heads or gnn.heads or relational.heads");
  EXPECT_THAT(refusal("heads: 4"),
              HasSubstr("'heads' belongs in a section: gat.heads or vgae.heads or gnn.heads"));
}

TEST(CanForeignNames, MayDependOnTheValue) {
  EXPECT_EQ(instead_of("mode", "autoencoder"), "task: autoencoder");
  EXPECT_THAT(instead_of("mode", "anything"), StartsWith("task: autoencoder, detection"));
  EXPECT_EQ(instead_of("mode"), instead_of("mode", "anything"));
  EXPECT_THAT(instead_of("lr"), HasSubstr("gat.learning_rate"));
  EXPECT_EQ(instead_of("fusion.lr"), instead_of("fusion")) << "not the learning rate";
}

TEST(CanRecipes, AreKnownByName) {
  EXPECT_EQ(load_recipe("kdgat", {}).task, "distillation");
  EXPECT_EQ(can_of(load_recipe("transfer", {})).windows.features, WindowFeatures::behaviour);
}

TEST(Windows, AreFramesOrTimeAndReadBackAsTheyWere) {
  const Recipe recipe = parse("data: {features: behaviour, window: 0.05s, stride: 12500us}");
  EXPECT_EQ(can_sections(recipe).windows.window, (WindowLength{50'000'000, WindowUnit::nanoseconds}));
  EXPECT_EQ(can_sections(recipe).windows.stride, (WindowLength{12'500'000, WindowUnit::nanoseconds}));
  EXPECT_THAT(recipe_yaml(recipe), HasSubstr("  window: 50ms\n  stride: 12500us\n"));
  EXPECT_EQ(recipe_yaml(parse(recipe_yaml(recipe))), recipe_yaml(recipe));
}

TEST(Windows, ByTimeLieEndToEndUnlessAStrideIsGiven) {
  const Recipe recipe = parse("data: {features: behaviour}", {"data.window=50ms"});
  EXPECT_EQ(can_sections(recipe).windows.stride, can_sections(recipe).windows.window);
  EXPECT_EQ(can_of(parse("data: {window: 50}")).windows.stride.value, 100);
}

TEST(Windows, LengthsThatDoNotGoTogetherAreRefused) {
  EXPECT_THAT(refusal("data: {features: behaviour, window: 50ms, stride: 100}"),
              HasSubstr("r.yaml:1:43: data.stride is 100 and data.window 50ms, expected both as frames"));
  EXPECT_THAT(refusal("data: {features: behaviour}", {"data.stride=50ms"}),
              HasSubstr("-O data.stride=50ms: data.stride is 50ms and data.window 100"));
  EXPECT_THAT(refusal("data: {window: 50ms}"),
              HasSubstr("r.yaml:1:8: data.window is 50ms, but data.features compat counts frames"));
  EXPECT_THAT(
      refusal("data: {window: 50 days}"),
      HasSubstr("r.yaml:1:8: data.window: '50 days' is not the length of a window; write 100 (frames)"));
  EXPECT_THAT(refusal("data: {features: behaviour, window: 2h}"), HasSubstr("is not the length"));
  EXPECT_THAT(refusal("data: {features: behaviour, window: 3601s}"), HasSubstr("expected 1us to 3600s"));
  EXPECT_THAT(refusal("data: {window: [100]}"), HasSubstr("'data.window' must be a single value"));
}

// A window overlaps this number of following windows and is disjoint from the next one.
TEST(WindowLength, OverlappingWindowsAreThoseThatShareAPart) {
  for (int64_t window = 1; window < 40; ++window)
    for (int64_t stride = 1; stride < 60; ++stride) {
      const int64_t overlap = overlapping_windows(window, stride);
      EXPECT_GE((overlap + 1) * stride, window) << window << " " << stride;
      EXPECT_TRUE(overlap == 0 || overlap * stride < window) << window << " " << stride;
      EXPECT_EQ(overlap, (window + stride - 1) / stride - 1);  // The formula in the documentation.
    }
}

TEST(Presets, SetTheKeysThatFollowAndLeaveThoseThatAreGiven) {
  const Recipe recipe = parse("teacher: {gat: {hidden: 7, preset: old_teacher}}\nvgae: {preset: large}\n");
  EXPECT_EQ(can_sections(recipe).teacher.gat.preset, ModelPreset::old_teacher);
  EXPECT_EQ(can_sections(recipe).teacher.gat.hidden, 7);
  EXPECT_EQ(can_sections(recipe).teacher.gat.layers, 5);
  EXPECT_EQ(can_sections(recipe).vgae.hidden, (std::vector<int64_t>{480, 240}));
  EXPECT_EQ(can_of(parse("")).teacher.gat.hidden, 48) << "a teacher is large";
  EXPECT_EQ(can_of(parse("", {"gat.preset=large", "gat.heads=2"})).gat.heads, 2);
  // A preset in an override replaces only the sizes of the file.
  const Recipe replaced =
      parse("gat: {embedding: 8, hidden: 24, jk: max}", {"gat.layers=7", "gat.preset=large"});
  EXPECT_EQ(can_sections(replaced).gat.embedding, 16);
  EXPECT_EQ(can_sections(replaced).gat.hidden, 48);
  EXPECT_EQ(can_sections(replaced).gat.layers, 7);
  EXPECT_EQ(can_sections(replaced).gat.jk, JkMode::max);
  EXPECT_THAT(refusal("gat: {preset: huge}"), HasSubstr("expected small|large|old_teacher"));
}

TEST(Lists, AreWrittenAsYamlOrWithCommas) {
  EXPECT_EQ(can_of(parse("vgae: {hidden: [9, 8]}")).vgae.hidden, (std::vector<int64_t>{9, 8}));
  EXPECT_EQ(can_of(parse("vgae: {hidden: 9}")).vgae.hidden, (std::vector<int64_t>{9}));
  EXPECT_EQ(can_of(parse("", {"vgae.hidden=9,8"})).vgae.hidden, (std::vector<int64_t>{9, 8}));
  EXPECT_THAT(refusal("vgae: {hidden: []}"), HasSubstr("empty list"));
  EXPECT_THAT(refusal("vgae: {hidden: [1, x]}"), HasSubstr("'x', expected a whole number"));
  EXPECT_THAT(refusal("vgae: {hidden: [[1], 2]}"), HasSubstr("list of names"));
}

TEST(Errors, ANameOfAnotherSystemIsAnsweredInAnySection) {
  EXPECT_THAT(refusal("mode: autoencoder"),
              HasSubstr("r.yaml:1:1: 'mode' is not a key here; instead: task: autoencoder"));
  EXPECT_THAT(refusal("mode: something"), HasSubstr("instead: task: autoencoder, detection or distillation"));
  EXPECT_THAT(refusal("", {"gat.use_cugraph=true"}), HasSubstr("instead: nothing: attention is fused"));
  EXPECT_THAT(refusal("auxiliaries: [{type: kd, alpha: 0.7}]"), HasSubstr("task: distillation"));
  EXPECT_THAT(refusal("model: vgae"), HasSubstr("expected gnn|sgmp|gtmp; instead: task: autoencoder"));
}

TEST(Errors, ASectionOfAnotherSystemIsAnsweredOnce) {
  const std::string error = refusal("dqn: {hidden: 576, layers: 3, batch_size: 128}");
  EXPECT_THAT(error, HasSubstr("r.yaml:1:1: 'dqn' is not a key here; instead: nothing"));
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_THAT(refusal("", {"dqn.batch_size=4"}),
              HasSubstr("'dqn.batch_size' is not a key here; instead: nothing"));
}

}  // namespace
}  // namespace plimsoll
