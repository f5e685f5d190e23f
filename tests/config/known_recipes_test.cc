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

TEST(KnownRecipes, EachSaysInALineWhatItTrainsAndLoadsByName) {
  EXPECT_TRUE(std::ranges::is_sorted(known_recipes(), {}, &KnownRecipe::name));
  EXPECT_GE(known_recipes().size(), 10U);
  for (const KnownRecipe& recipe : known_recipes()) {
    EXPECT_THAT(std::string(recipe.summary()), EndsWith(".")) << recipe.name;
    EXPECT_LE(recipe.summary().size(), 100U) << recipe.name;
    EXPECT_TRUE(is_known_recipe(recipe.name));
    EXPECT_EQ(recipe_yaml(load_recipe(recipe.name, {})),
              recipe_yaml(parse_recipe(std::string(recipe.text), "text", {})));
  }
}

TEST(KnownRecipes, AFileComesFirstAndAFolderDoesNot) {
  const TempFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::filesystem::create_directory("kdgat");
  EXPECT_TRUE(is_known_recipe("kdgat"));
  EXPECT_EQ(load_recipe("kdgat", {}).task, TaskName::distillation);
  std::ofstream("gat") << "seed: 7\n";
  EXPECT_FALSE(is_known_recipe("gat"));
  EXPECT_EQ(load_recipe("gat", {}).seed, 7);
  std::filesystem::current_path(before);
}

TEST(KnownRecipes, AnUnknownNameHasTheNearest) {
  EXPECT_THAT(error_text<InputError>([] { read_recipe("kdgat-dmo"); }),
              AllOf(HasSubstr("no such recipe: kdgat-dmo"), HasSubstr("did you mean kdgat-demo?"),
                    HasSubstr("`plimsoll recipes`")));
  EXPECT_THAT(error_text<InputError>([] { read_recipe("recipes/transfr.yaml"); }),
              HasSubstr("did you mean transfer?"));
}

}  // namespace
}  // namespace plimsoll
