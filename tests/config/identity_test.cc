#include "config/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "config/earlier_runs.h"

namespace plimsoll {
namespace {

std::string hash_of(const std::string& text) {
  Hasher hasher;
  hasher.add(text.data(), text.size());
  return hasher.hex64();
}

// The texts of the first version, whose runs must be able to continue: if either hash changed, all of them
// would be refused. A new key changes neither, because with_earlier_rules() gives it the value that versions
// without it had.
TEST(Identity, IsThatOfTheFirstVersion) {
  EXPECT_EQ(hash_of(identity_yaml(with_earlier_rules({}))), "aa96c6f0bedf707c");
  const Recipe other = parse_recipe(
      "task: distillation\nseed: 7\ndata: {features: behaviour, window: 50ms, without: [known]}\nsplit: {by: "
      "recording}\n"
      "training: {lanes: 8, block: {preset: gpu}}\nteacher: {gat: {preset: old_teacher}}\n"
      "paths: {cutoff: 2.5}\nsampling: {fan_outs: [3, -1]}\n",
      "r.yaml", {});
  EXPECT_EQ(hash_of(identity_yaml(with_earlier_rules(other))), "71a6277c3842f842");
}

TEST(Identity, HasEveryKeyWhoseValueIsNotTheDefault) {
  Recipe recipe;
  recipe.seed = 7;
  recipe.gnn.hidden = 65;
  const std::string text = identity_yaml(recipe);
  EXPECT_THAT(text, testing::HasSubstr("seed: 7\n"));
  EXPECT_THAT(text, testing::HasSubstr("  hidden: 65\n"));
}

TEST(Identity, HasALaterKeyOnlyWhereItDiffersFromItsDefault) {
  const RecipeValues defaults = {{"seed", "42"}, {"sampling.later", "false"}, {"sampling.negatives", "1"}};
  const RecipeValues frozen = {{"seed", "42"}, {"sampling.negatives", "1"}};
  EXPECT_EQ(identity_values(defaults, defaults), frozen);
  RecipeValues changed = defaults;
  changed[1].second = "true";
  EXPECT_EQ(identity_values(changed, defaults), changed);
}

}  // namespace
}  // namespace plimsoll
