#include "config/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <locale>
#include <set>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

Recipe parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_recipe(text, "r.yaml", overrides);
}

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return error_text<UsageError>([&] { parse(text, overrides); });
}

TEST(Recipe, AnEmptyOneHasTheDefaults) {
  const std::string defaults = recipe_yaml(Recipe());
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "{}"})
    EXPECT_EQ(recipe_yaml(parse(text)), defaults) << text;
}

class DecimalComma : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST(Recipe, NumbersHaveAPointWhateverTheLocaleOfTheProgramIs) {
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new DecimalComma));  // The locale deletes it.
  const std::string text = recipe_yaml(parse("split: {validation: 0.25}", {"training.learning_rate=1.5e-3"}));
  std::locale::global(before);
  EXPECT_THAT(text, HasSubstr("validation: 0.25"));
  EXPECT_THAT(text, HasSubstr("learning_rate: 0.0015"));
}

TEST(Recipe, NumbersThatAreNotFiniteAreRefused) {
  for (const char* number : {"inf", "nan", "1e999", "0x1", "0.5.1"})
    EXPECT_THAT(refusal(std::string("training: {learning_rate: ") + number + "}"),
                HasSubstr("training.learning_rate"))
        << number;
}

TEST(Recipe, TheDefaultsAreThoseOfTheDocumentation) {
  const Recipe recipe;
  EXPECT_EQ(recipe.seed, 42);
  EXPECT_EQ(recipe.split.validation, 0.2);
  EXPECT_EQ(recipe.training.precision, Precision::full);
  EXPECT_EQ(recipe.training.gradient_checkpointing, GradientCheckpointing::automatic);
  EXPECT_EQ(recipe.training.block.graphs, 64);
  EXPECT_EQ(recipe.training.block.nodes, 4096);
  EXPECT_EQ(recipe.training.block.edges, 16384);
}

TEST(Recipe, IsReadInAnyLayoutOfYaml) {
  const Recipe recipe = parse(
      "training:\n"
      "  block: {graphs: 5, nodes: 60}\n"
      "  learning_rate: 3e-4\n"
      "  precision: '32'\n"
      "seed: 7  # a comment\n");
  EXPECT_EQ(recipe.training.block.graphs, 5);
  EXPECT_EQ(recipe.training.block.nodes, 60);
  EXPECT_EQ(recipe.training.block.edges, 16384);
  EXPECT_EQ(recipe.training.learning_rate, 3e-4);
  EXPECT_EQ(recipe.seed, 7);
}

// Sets the key to a value other than its default, if it can have one.
struct Change {
  std::string only;
  template <typename Number>
  void operator()(const std::string& key, Number& value, const Range& range) const {
    if (key != only) return;
    const Number other = value + static_cast<Number>(1) / 3 + static_cast<Number>(std::is_integral_v<Number>);
    value = static_cast<double>(other) <= range.max
                ? other
                : static_cast<Number>(range.min + (range.max - range.min) / 3);
  }
  void operator()(const std::string& key, bool& value, const Flag&) const { value ^= key == only; }
  void operator()(const std::string& key, std::vector<int64_t>& value, const EachInRange&) const {
    if (key == only) value = {7, 5, 3};
  }
  template <typename Enum, typename Section>
  void operator()(const std::string& key, Enum& value, const Preset<Section>&) const {
    (*this)(key, value, Choice<Enum>{});
  }
  void operator()(const std::string& key, std::vector<std::string>& value, Names) const {
    if (key == only) value = {"DoS", "a, b", "~", "5", "it's: \"x\"", "[", ""};
  }
  void operator()(const std::string& key, std::string& value, const OneOf& one_of) const {
    if (key == only) value = one_of.words.back();
  }
  void operator()(const std::string& key, std::string& value, Text) const {
    if (key == only) value = "runs/it's: \"x\" #1.safetensors";
  }
  void operator()(const std::string& key, AutoOrNumber& value, const AutoOr& range) const {
    if (key == only) value.text = range.whole ? "3" : "2.5";
  }
  template <typename Enum>
  void operator()(const std::string& key, Enum& value, const Choice<Enum>&) const {
    if (key != only) return;
    const size_t next = (static_cast<size_t>(value) + 1) % kWords<Enum>.size();
    value = static_cast<Enum>(next);
  }
};

std::vector<std::string> all_keys() {
  std::vector<std::string> keys;
  Recipe recipe;
  visit_recipe(recipe, [&](const std::string& key, auto&, auto) { keys.push_back(key); });
  return keys;
}

TEST(Recipe, ASecondDocumentIsNotLeftOut) {
  EXPECT_THAT(error_text<UsageError>([] { parse_recipe("seed: 1\n---\nseed: 2\n", "r.yaml", {}); }),
              HasSubstr("r.yaml:2: a second document"));
}

TEST(Recipe, TextThatIsNoUtf8IsRefusedAtOnce) {
  EXPECT_NE(
      error_text<UsageError>([] { parse_recipe(",training\xdd\n  epochs: 5\n\xbcO gaT.x\n", "r.yaml", {}); }),
      "");
}

TEST(RecipeYaml, EveryKeyIsPrintedAndReadBackToTheSameValue) {
  const std::string defaults = recipe_yaml(Recipe());
  EXPECT_EQ(recipe_yaml(parse(defaults)), defaults);
  int changed = 0;
  for (const std::string& key : all_keys()) {
    Recipe recipe;
    visit_recipe(recipe, Change{key});
    const std::string yaml = recipe_yaml(recipe);
    EXPECT_EQ(recipe_yaml(parse(yaml)), yaml) << key;
    if (yaml != defaults) ++changed;
  }
  EXPECT_GE(changed, 18) << "all but those with a single choice";
}

TEST(Recipe, ANumberOrAutoIsChecked) {
  EXPECT_EQ(parse("paths: {cutoff: 1.5e1}\n").paths.asked_cutoff.text, "1.5e1");
  for (const char* wrong : {"0", "-1", "nan", "1e31", "Auto", "1.5 m", ""})
    EXPECT_THAT(error_text<UsageError>([&] { parse("paths: {cutoff: '" + std::string(wrong) + "'}\n"); }),
                HasSubstr(", or auto"))
        << wrong;
}

TEST(RecipeYaml, NumbersKeepTheirLastBit) {
  Recipe recipe;
  recipe.training.learning_rate = 0.1 + 0.2;
  recipe.seed = 8'999'999'999'999'999;
  const Recipe read = parse(recipe_yaml(recipe));
  EXPECT_EQ(read.training.learning_rate, recipe.training.learning_rate);
  EXPECT_EQ(read.seed, recipe.seed);
}

TEST(RecipeSchema, KeysAreDistinctAndDefaultsAreWithinTheirBounds) {
  const std::vector<std::string> keys = all_keys();
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
  EXPECT_NO_THROW(parse(recipe_yaml(Recipe())));
}

TEST(Overrides, WinOverTheFileAndOverEarlierOnes) {
  const Recipe recipe = parse("seed: 1\ngnn: {heads: 2}\n", {"gnn.heads=3", "gnn.layers=5", "gnn.heads=4"});
  EXPECT_EQ(recipe.seed, 1);
  EXPECT_EQ(recipe.gnn.heads, 4);
  EXPECT_EQ(recipe.gnn.layers, 5);
}

std::string as_override(const std::string& word) {
  return word;
}
template <Worded Enum>
std::string as_override(Enum value) {
  return std::string(word_of(value));
}
std::string as_override(const AutoOrNumber& value) {
  return value.text;
}
std::string as_override(bool flag) {
  return flag ? "true" : "false";
}
std::string as_override(const std::vector<int64_t>&) {
  return "7,5,3";
}
std::string as_override(const std::vector<std::string>&) {
  return R"([DoS, "a, b", "~", 5, 'it''s: "x"', "[", ""])";
}
template <typename Number>
requires std::is_arithmetic_v<Number> std::string as_override(const Number& number) {
  return std::to_string(number);
}

TEST(Overrides, EveryKeyCanBeOverridden) {
  for (const std::string& key : all_keys()) {
    Recipe recipe;
    visit_recipe(recipe, Change{key});
    std::string value;
    visit_recipe(recipe, [&](const std::string& name, auto& found, auto) {
      if (name == key) value = as_override(found);
    });
    Recipe by_hand = parse("", {key + "=" + value});
    visit_recipe(by_hand, [&](const std::string& name, auto& found, auto) {
      if (name == key) {
        EXPECT_EQ(as_override(found), value) << key;
      }
    });
    if (key != "data.without" && key != "split.leave_out") continue;
    EXPECT_EQ(recipe_yaml(by_hand), recipe_yaml(recipe));
  }
}

TEST(Lists, AreWrittenAsYamlOrWithCommas) {
  const auto fan_outs = [](const std::string& text, const std::vector<std::string>& overrides = {}) {
    return parse(text, overrides).sampling.fan_outs;
  };
  EXPECT_EQ(fan_outs("sampling: {fan_outs: [9, 8]}"), (std::vector<int64_t>{9, 8}));
  EXPECT_EQ(fan_outs("sampling: {fan_outs: 9}"), (std::vector<int64_t>{9}));
  EXPECT_EQ(fan_outs("", {"sampling.fan_outs=9,8"}), (std::vector<int64_t>{9, 8}));
  EXPECT_THAT(refusal("sampling: {fan_outs: []}"), HasSubstr("empty list"));
  EXPECT_THAT(refusal("sampling: {fan_outs: [1, x]}"), HasSubstr("'x', expected a whole number"));
  EXPECT_THAT(refusal("sampling: {fan_outs: [[1], 2]}"), HasSubstr("list of names"));
}

TEST(Presets, SetTheKeysThatFollowAndLeaveThoseThatAreGiven) {
  const Recipe recipe = parse("training: {block: {edges: 7, preset: gpu}}");
  EXPECT_EQ(recipe.training.block.graphs, 512);
  EXPECT_EQ(recipe.training.block.edges, 7);
  // A preset in an override replaces only the sizes of the file.
  const Recipe replaced = parse("training: {block: {graphs: 8, nodes: 99}}",
                                {"training.block.preset=gpu", "training.block.edges=7"});
  EXPECT_EQ(replaced.training.block.graphs, 512);
  EXPECT_EQ(replaced.training.block.nodes, 65'536);
  EXPECT_EQ(replaced.training.block.edges, 7);
  EXPECT_THAT(refusal("training: {block: {preset: huge}}"), HasSubstr("expected cpu|gpu"));
}

TEST(Errors, ANameOfAnotherSystemIsAnsweredInAnySection) {
  for (const char* text : {"num_workers: 8", "training: {num_workers: 8}", "training: {num-workers: 8}"})
    EXPECT_THAT(refusal(text), HasSubstr("is not a key here; instead: --threads")) << text;
  // A key of a section is never treated as another system's key of the same name.
  const std::string error = refusal("paths: {mode: coded}");
  EXPECT_THAT(error, HasSubstr("expected corrected|reference"));
  EXPECT_THAT(error, testing::Not(HasSubstr("instead")));
}

TEST(Tasks, AreWordsThatAreListedInTheirOrder) {
  EXPECT_EQ(parse("task: node_regression").task, "node_regression");
  const std::string error = refusal("task: node_regresion");
  EXPECT_THAT(error, HasSubstr("r.yaml:1:1: task is 'node_regresion', expected "));
  EXPECT_THAT(error, HasSubstr("graph_classification|graph_regression|link_prediction|node_classification|"));
  EXPECT_THAT(error, HasSubstr("did you mean 'node_regression'?"));
}

TEST(Names, AreAListOrASingleName) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(parse("split: {leave_out: [DoS, fuzzing]}").split.leave_out, (Names{"DoS", "fuzzing"}));
  EXPECT_EQ(parse("split:\n  leave_out:\n    - DoS\n").split.leave_out, Names{"DoS"});
  EXPECT_EQ(parse("split: {leave_out: DoS}").split.leave_out, Names{"DoS"});
  EXPECT_EQ(parse("split: {leave_out: []}").split.leave_out, Names{});
  EXPECT_EQ(parse("", {"split.leave_out=DoS"}).split.leave_out, Names{"DoS"});
  EXPECT_EQ(parse("", {"split.leave_out=it's: odd"}).split.leave_out, Names{"it's: odd"});
  EXPECT_EQ(parse("split: {leave_out: DoS}", {"split.leave_out=[]"}).split.leave_out, Names{});
  EXPECT_THAT(refusal("", {"split.leave_out=[DoS"}), HasSubstr("expected a list such as [a, b]"));
  EXPECT_THAT(refusal("split: {leave_out: {a: 1}}"), HasSubstr("unknown key 'split.leave_out.a'"));
  EXPECT_THAT(refusal("split: {leave_out: [[a]]}"),
              HasSubstr("'split.leave_out' must be a single value or a list of names"));
}

TEST(Overrides, WrongOnesSaySoWithTheirText) {
  EXPECT_THAT(refusal("", {"seed"}), HasSubstr("-O seed: expected section.key=value"));
  EXPECT_THAT(refusal("", {"sede=1"}),
              HasSubstr("-O sede=1: unknown key 'sede'; the nearest known key is 'seed'"));
  EXPECT_THAT(refusal("", {"seed=soon"}), HasSubstr("-O seed=soon: seed is 'soon', expected a whole number"));
  EXPECT_THAT(refusal("", {"=1"}), HasSubstr("unknown key ''"));
  EXPECT_THAT(refusal("", {"seed="}), HasSubstr("expected a whole number"));
  EXPECT_THAT(refusal("", {"training.num_workers=4"}), HasSubstr("--threads"));
}

TEST(Errors, AnUnknownKeyNamesTheNearestAndItsPlace) {
  EXPECT_THAT(
      refusal("seed: 1\ntraining:\n  batchsize: 3\n"),
      HasSubstr(
          "r.yaml:3:3: unknown key 'training.batchsize'; the nearest known key is 'training.batch_size'"));
  EXPECT_THAT(refusal("trainig: {patience: 3}"), HasSubstr("'training.patience'"));
  EXPECT_THAT(
      refusal("gnn: 5"),
      HasSubstr("r.yaml:1:1: 'gnn' is a section, found '5', expected its keys, such as gnn: {conv: ...}"));
  EXPECT_THAT(refusal("training: {block: gpu}"),
              HasSubstr("'training.block' is a section, found 'gpu', expected its keys, such as "
                        "training.block: {preset: gpu}"));
  EXPECT_THAT(refusal("seed: {deep: 5}"), HasSubstr("unknown key 'seed.deep'"));
  EXPECT_THAT(refusal("<<: 5"), HasSubstr("unknown key '<<'"));
}

TEST(Recipe, TrueAndFalseSwitchGradientCheckpointingOnAndOff) {
  EXPECT_EQ(parse("training: {gradient_checkpointing: on}").training.gradient_checkpointing,
            GradientCheckpointing::on);
  EXPECT_EQ(parse("training: {gradient_checkpointing: true}").training.gradient_checkpointing,
            GradientCheckpointing::on);
  EXPECT_EQ(parse("", {"training.gradient_checkpointing=false"}).training.gradient_checkpointing,
            GradientCheckpointing::off);
  EXPECT_THAT(refusal("training: {gradient_checkpointing: 'yes'}"),
              HasSubstr("r.yaml:1:12: training.gradient_checkpointing is 'yes', expected auto|on|off"));
  EXPECT_EQ(parse("training: {precision: 32-true}").training.precision, Precision::full);
  EXPECT_EQ(parse("training: {precision: bf16-mixed}").training.precision, Precision::bf16_mixed);
  EXPECT_EQ(parse("training: {precision: 16-mixed}").training.precision, Precision::fp16_mixed);
}

TEST(Errors, AKeyWithoutItsSectionIsToldWhereItStands) {
  EXPECT_THAT(refusal("gradient_checkpointing: on"),
              HasSubstr("r.yaml:1:1: 'gradient_checkpointing' belongs in a section: "
                        "training.gradient_checkpointing"));
  EXPECT_THAT(refusal("layers: 4"), HasSubstr("gnn.layers or paths.layers"));
}

TEST(Errors, AllUnknownKeysAreToldAtOnce) {
  const std::string error =
      refusal("training: {lr: 0.1, patince: 3}\nrun_test: true\n", {"training.mem=8GB"});
  EXPECT_THAT(error,
              HasSubstr("r.yaml:1:12: 'training.lr' is not a key here; instead: training.learning_rate"));
  EXPECT_THAT(error, HasSubstr("\nr.yaml:1:21: unknown key 'training.patince'"));
  EXPECT_THAT(error, HasSubstr("\nr.yaml:2:1: 'run_test' is not a key here; instead: plimsoll evaluate"));
  EXPECT_THAT(error, HasSubstr("\n-O training.mem=8GB: "));
}

TEST(Errors, AValueOfTheWrongTypeNamesItsPlaceAndTheTypeExpected) {
  for (const char* value :
       {"many", "1.5", "1e3", "0x10", "''", "1 2", "true", "99999999999999999999", "12x", "~x"})
    EXPECT_THAT(refusal("training:\n  batch_size: " + std::string(value) + "\n"),
                HasSubstr("r.yaml:2:3: training.batch_size is '"))
        << value;
  for (const char* value : {"fast", "", "nan", ".nan", "inf", ".inf", "1e400", "1,5", "0.1.2"})
    EXPECT_THAT(
        refusal("training: {learning_rate: '" + std::string(value) + "'}"),
        HasSubstr("r.yaml:1:12: training.learning_rate is '" + std::string(value) + "', expected a number"))
        << value;
}

TEST(Errors, AValueOutOfRangeNamesTheRange) {
  EXPECT_THAT(refusal("\ngnn:\n    layers: 0"), HasSubstr("r.yaml:3:5: gnn.layers is 0, expected 1 to 64"));
  EXPECT_THAT(refusal("gnn: {layers: 65}"), HasSubstr("expected 1 to 64"));
  EXPECT_EQ(parse("gnn: {layers: 64}").gnn.layers, 64);
  EXPECT_THAT(refusal("seed: -1"), HasSubstr("r.yaml:1:1: seed is -1, expected 0 to"));
  EXPECT_THAT(refusal("gnn: {dropout: 1}"), HasSubstr("expected 0 to 0.99"));
  EXPECT_THAT(refusal("split: {validation: -0.2}"), HasSubstr("expected 0.01 to 0.9"));
  EXPECT_THAT(refusal("training: {block: {graphs: 0}}"),
              HasSubstr("training.block.graphs is 0, expected 1 to"));
}

TEST(Errors, AWordThatIsNoChoiceNamesTheChoices) {
  EXPECT_THAT(
      refusal("gnn: {norm: batches}"),
      HasSubstr("r.yaml:1:7: gnn.norm is 'batches', expected none|batch|graph; did you mean 'batch'?"));
  EXPECT_THAT(refusal("gnn: {norm: ''}"), HasSubstr("expected none"));
  EXPECT_THAT(refusal("gnn: {norm: 'none|batch'}"), HasSubstr("expected none"));
  EXPECT_THAT(refusal("gnn: {norm: bat}"), HasSubstr("expected none"));
}

TEST(Errors, AnotherPrecisionSaysWhatSavesMemoryInstead) {
  const std::string error = refusal("training: {precision: 16-true}");
  EXPECT_THAT(error, HasSubstr("'16-true', expected 32"));
  EXPECT_THAT(error, HasSubstr("training.block"));
}

TEST(Errors, AKeyThatIsGivenTwiceIsRefused) {
  EXPECT_THAT(refusal("seed: 1\nseed: 2\n"), HasSubstr("r.yaml:2:1: 'seed' is given twice"));
  EXPECT_THAT(refusal("gnn: {heads: 1}\ngnn: {heads: 2}\n"),
              HasSubstr("r.yaml:2:7: 'gnn.heads' is given twice"));
  EXPECT_THAT(refusal("gnn: {heads: 1}\ngnn.heads: 2\n"), HasSubstr("'gnn.heads' is given twice"));
}

TEST(Errors, AListOrNothingInsteadOfAValueIsRefused) {
  EXPECT_THAT(refusal("seed:\n  - 1\n  - 2\n"), HasSubstr("r.yaml:1:1: 'seed' must be a single value"));
  EXPECT_THAT(refusal("training:\n  batch_size: [32]\n"),
              HasSubstr("r.yaml:2:3: 'training.batch_size' must be a single value"));
  EXPECT_THAT(refusal("seed:\n"), HasSubstr("r.yaml:1:1: 'seed' must be a single value"));
  EXPECT_THAT(refusal("seed: ~\n"), HasSubstr("'seed' must be a single value"));
}

TEST(Recipe, ASectionMayBeEmpty) {
  const std::string defaults = recipe_yaml(Recipe());
  for (const char* text : {"training:\n", "training:\n  block:\n", "run:\n  profile: ~\n", "gnn: {}"})
    EXPECT_EQ(recipe_yaml(parse(text)), defaults) << text;
  EXPECT_THAT(refusal("trainings:\n"), HasSubstr("unknown key 'trainings'"));
}

TEST(Errors, AKeyThatIsNoNameIsRefused) {
  EXPECT_THAT(refusal("? [a, b]\n: c\n"), HasSubstr("r.yaml:1:3: a key must be a name"));
}

TEST(Errors, TextThatIsNoRecipeIsRefusedByPlace) {
  EXPECT_THAT(refusal("seed: 1\n  heads: 2\n"), HasSubstr("r.yaml:2:8: not YAML"));
  EXPECT_THAT(refusal("gat: {heads: 1\nseed: [\n"), HasSubstr("r.yaml:"));
  for (const char* text : {"- 1\n- 2\n", "just text", "7", "[a]", "\"", "{", "a: b: c", "? [1, 2]\n: 3\n",
                           "{{a: 1}: 2}", "seed: *nobody", "%YAML 9", "\t- a", "a: &x [*x]"})
    EXPECT_THAT(refusal(text), HasSubstr("r.yaml")) << text;
}

TEST(Errors, RecipesThatHoldThemselvesOrNestWithoutEndAreRefused) {
  EXPECT_THAT(refusal("training: &t\n  block: *t\n"), HasSubstr("r.yaml:"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "{gat: ";
  EXPECT_NE(refusal(deep + "1" + std::string(100, '}')), "");
  std::string wide = "a: &a0 {}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    wide += "b" + std::to_string(i) + ": &a" + std::to_string(i) + " {x: " + last + ", y: " + last + "}\n";
  }
  EXPECT_NE(refusal(wide), "");
}

TEST(LoadRecipe, ReadsAFileAndNamesItInErrors) {
  const TempFolder folder;
  const auto path = folder / "gat.yaml";
  write_bytes(path, "seed: 5\n");
  EXPECT_EQ(load_recipe(path, {"gnn.heads=2"}).seed, 5);
  EXPECT_EQ(load_recipe(path, {"gnn.heads=2"}).gnn.heads, 2);
  write_bytes(path, "sede: 5\n");
  EXPECT_THAT(error_text<UsageError>([&] { load_recipe(path, {}); }), HasSubstr(path.string() + ":1:1: "));
}

TEST(LoadRecipe, WhatIsNoFileIsAnInputErrorThatNamesIt) {
  const TempFolder folder;
  const auto path = folder / "missing.yaml";
  EXPECT_THAT(error_text<InputError>([&] { load_recipe(path, {}); }), HasSubstr(path.string()));
  EXPECT_THAT(error_text<InputError>([&] { load_recipe(folder.path(), {}); }),
              HasSubstr(folder.path().string()));
}

TEST(Recipe, TheEmbargoIsAutoOrAWholeNumber) {
  EXPECT_EQ(Recipe().split.embargo.text, "auto");
  EXPECT_EQ(parse("split: {embargo: 7}").split.embargo.text, "7");
  EXPECT_EQ(parse("split: {embargo: auto}").split.embargo.text, "auto");
  for (const char* wrong : {"1.5", "-1", "few", "1e3"})
    EXPECT_THAT(error_text<UsageError>([&] { parse(std::string("split: {embargo: ") + wrong + "}"); }),
                testing::AllOf(HasSubstr("split.embargo"), HasSubstr(wrong), HasSubstr(", or auto")));
}

}  // namespace
}  // namespace plimsoll
