#include "config/earlier_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/identity.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(EarlierRuns, IdentityHasLaterKeysWhereTheyDiffer) {
  const std::string now = identity_yaml({});
  EXPECT_THAT(now, HasSubstr("  rule: 2\n"));
  EXPECT_THAT(now, HasSubstr("  exclude_targets: true\n"));
  EXPECT_THAT(now, HasSubstr("init_target_scale: data\n"));
  const std::string before = identity_yaml(with_earlier_rules({}));
  EXPECT_THAT(before, Not(HasSubstr("rule:")));
  EXPECT_THAT(before, HasSubstr("  embargo: 1\n"));
}

// If an older recipe lacks a later key, the key has the value that the older version used. The recipe of a
// newer run contains the key.
TEST(EarlierRuns, TheRecipeOfARunIsReadByItsOwnRules) {
  TempFolder folder;
  const auto read = [&](const std::string& text) {
    write_bytes(folder / "recipe.yaml", text);
    return load_run_recipe(folder / "recipe.yaml");
  };
  const Recipe earlier = read("seed: 5\nsplit:\n  embargo: 3\n");
  EXPECT_EQ(earlier.seed, 5);
  EXPECT_EQ(earlier.split.rule, 1);
  EXPECT_EQ(earlier.split.embargo.text, "3");
  EXPECT_FALSE(earlier.sampling.exclude_targets);
  EXPECT_EQ(earlier.init_target_scale, TargetScaleSource::model);
  EXPECT_EQ(earlier.relational.training_history, TrainingHistory::full);
  EXPECT_TRUE(earlier.relational.history_days.empty());
  for (const Recipe& recipe : {Recipe(), with_earlier_rules({})})
    EXPECT_EQ(recipe_yaml(read(recipe_yaml(recipe))), recipe_yaml(recipe));
}

TEST(EarlierRuns, AFolderWithoutARecipeIsNoRun) {
  TempFolder folder;
  try {
    load_run_recipe(folder / "run" / "recipe.yaml");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("run: is not a run, because"));
  }
}

TEST(EarlierRuns, WhatTheirUserWroteStays) {
  Recipe recipe;
  recipe.split.embargo.text = "7";
  EXPECT_EQ(with_earlier_rules(recipe).split.embargo.text, "7");
  EXPECT_EQ(with_earlier_rules({}).split.embargo.text, "1");
}

}  // namespace
}  // namespace plimsoll
