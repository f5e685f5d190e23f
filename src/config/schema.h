#pragma once

#include <string>

#include "config/recipe.h"

namespace plimsoll {

/// Calls visit(section, values) for each section of a recipe, in the order in which they are printed.
template <EitherOf<Recipe> RecipeType, typename Visit>
void visit_sections(RecipeType& r, Visit&& visit) {
  visit("data", r.data);
  visit("features", r.features);
  visit("split", r.split);
  visit("training", r.training);
  visit("training.block", r.training.block);
  visit("sampling", r.sampling);
  visit("memory", r.memory);
  visit("run", r.run);
  visit("run.profile", r.run.profile);
  visit("gat", r.gat);
  visit("vgae", r.vgae);
  visit("teacher.gat", r.teacher.gat);
  visit("teacher.vgae", r.teacher.vgae);
  visit("curriculum", r.curriculum);
  visit("distillation", r.distillation);
  visit("gnn", r.gnn);
  visit("paths", r.paths);
  visit("pretraining", r.pretraining);
  visit("fine_tuning", r.fine_tuning);
}

/// Calls visit(key, value, check) for every key of a recipe, in the order in which they are printed.
/// Reading, overriding, printing and checking all go through it. config/checks.h has the checks.
template <EitherOf<Recipe> RecipeType, typename Visit>
void visit_recipe(RecipeType& r, Visit&& visit) {
  visit("seed", r.seed, Range{0, 9e15});
  visit("task", r.task, Choice<TaskName>{});
  visit("model", r.model, Choice<ModelKind>{});
  visit("init_from", r.init_from, Text{});
  visit("init_target_scale", r.init_target_scale, Choice<TargetScaleSource>{});
  visit_sections(r, [&](const std::string& section, auto& values) {
    visit_keys(values, [&](const char* key, auto& value, const auto& check) {
      visit(section + "." + key, value, check);
    });
  });
}

}  // namespace plimsoll
