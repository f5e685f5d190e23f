#include "config/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

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
