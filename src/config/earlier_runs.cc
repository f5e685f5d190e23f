#include "config/earlier_runs.h"

namespace plimsoll {

Recipe with_earlier_rules(Recipe recipe) {
  recipe.init_target_scale = "model";
  recipe.split.rule = 1;
  if (recipe.split.embargo == kAuto) recipe.split.embargo = "1";
  recipe.sampling.exclude_targets = false;
  return recipe;
}

Recipe load_run_recipe(const std::filesystem::path& path) {
  return load_recipe(path, {}, with_earlier_rules({}));
}

}  // namespace plimsoll
