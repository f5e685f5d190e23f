#include "config/earlier_runs.h"

#include <fmt/format.h>

#include <system_error>

#include "base/error.h"

namespace plimsoll {

Recipe with_earlier_rules(Recipe recipe) {
  recipe.init_target_scale = TargetScaleSource::model;
  recipe.split.rule = 1;
  if (recipe.split.embargo.is_auto()) recipe.split.embargo.text = "1";
  recipe.sampling.exclude_targets = false;
  recipe.relational.training_history = TrainingHistory::full;
  recipe.relational.history_days = {};
  return recipe;
}

Recipe load_run_recipe(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown))
    throw InputError(
        fmt::format("{}: is not a run, because {} does not exist; expected a folder that "
                    "`plimsoll train` wrote",
                    path.parent_path().string(), path.string()));
  return load_recipe(path, {}, with_earlier_rules({}));
}

}  // namespace plimsoll
