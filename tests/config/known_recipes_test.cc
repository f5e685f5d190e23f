#include "config/known_recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "config/recipe.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

TEST(KnownRecipes, EachSaysInALineWhatItTrainsAndIsReadByName) {
  EXPECT_TRUE(std::ranges::is_sorted(known_recipes(), {}, &KnownRecipe::name));
  EXPECT_GE(known_recipes().size(), 5U);
  for (const KnownRecipe& recipe : known_recipes()) {
    EXPECT_THAT(std::string(recipe.summary()), EndsWith(".")) << recipe.name;
    EXPECT_LE(recipe.summary().size(), 100U) << recipe.name;
    EXPECT_TRUE(is_known_recipe(recipe.name));
    EXPECT_EQ(read_recipe(recipe.name), recipe.text);
  }
}

TEST(KnownRecipes, AFileComesFirstAndAFolderDoesNot) {
  const TempFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::filesystem::create_directory("sgmp");
  EXPECT_TRUE(is_known_recipe("sgmp"));
  EXPECT_EQ(load_recipe("sgmp", {}).model, ModelKind::sgmp);
  std::ofstream("gtssl") << "seed: 7\n";
  EXPECT_FALSE(is_known_recipe("gtssl"));
  EXPECT_EQ(load_recipe("gtssl", {}).seed, 7);
  std::filesystem::current_path(before);
}

TEST(KnownRecipes, AnUnknownNameHasTheNearest) {
  EXPECT_THAT(error_text<InputError>([] { read_recipe("link_predction"); }),
              AllOf(HasSubstr("no such recipe: link_predction"), HasSubstr("did you mean link_prediction?"),
                    HasSubstr("`plimsoll recipes`")));
  EXPECT_THAT(error_text<InputError>([] { read_recipe("recipes/sgm.yaml"); }),
              HasSubstr("did you mean sgmp?"));
}

}  // namespace
}  // namespace plimsoll
