#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/recipe_parts.h"
#include "config/sections/data.h"
#include "config/sections/features.h"
#include "config/sections/fine_tuning.h"
#include "config/sections/gnn.h"
#include "config/sections/memory.h"
#include "config/sections/paths.h"
#include "config/sections/pretraining.h"
#include "config/sections/relational.h"
#include "config/sections/run.h"
#include "config/sections/sampling.h"
#include "config/sections/split.h"
#include "config/sections/task.h"
#include "config/sections/training.h"
#include "config/task_names.h"
#include "config/yaml_of.h"

namespace plimsoll {

/// A recipe: what to train, as typed values. docs/recipe.md documents the keys, defaults and meanings. The
/// header of a section (config/sections) lists its keys, and visit_sections() lists the sections. Other
/// modules may add sections (config/recipe_parts.h).
struct Recipe {
  int64_t seed = 42;
  std::string task = default_task();  ///< One of task_names().
  ModelKind model = ModelKind::gnn;
  std::string init_from = {};  ///< A model file with the initial weights; empty: none.
  TargetScaleSource init_target_scale = TargetScaleSource::data;

  DataSection data;
  FeaturesSection features;
  SplitSection split;
  TrainingSection training;
  SamplingSection sampling;
  MemorySection memory;
  RunSection run;
  GnnOptions gnn;
  SgmpOptions paths;
  PretrainingOptions pretraining;
  FineTuningSection fine_tuning;
  RelationalSection relational;
  RecipeParts parts;  ///< Sections that other modules register.

  bool uses_paths() const { return model == ModelKind::sgmp || model == ModelKind::gtmp; }
  /// Returns the name of the model, for tasks on graphs, nodes, pairs or values.
  std::string model_name() const { return std::string(uses_paths() ? word_of(model) : word_of(gnn.conv)); }
};

/// Calls visit(section, values) for each section of a recipe, except those of its parts, in the order in
/// which they are printed.
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
  visit("gnn", r.gnn);
  visit("paths", r.paths);
  visit("pretraining", r.pretraining);
  visit("fine_tuning", r.fine_tuning);
  visit("relational", r.relational);
}

/// Calls visit(key, value, check) for every key of these sections and every key without a section, in the
/// order in which they are printed. config/checks.h has the checks.
template <EitherOf<Recipe> RecipeType, typename Visit>
void visit_recipe(RecipeType& r, Visit&& visit) {
  visit("seed", r.seed, Range{0, 9e15});
  visit("task", r.task, OneOf{task_names()});
  visit("model", r.model, Choice<ModelKind>{});
  visit("init_from", r.init_from, Text{});
  visit("init_target_scale", r.init_target_scale, Choice<TargetScaleSource>{});
  visit_sections(r, [&](const std::string& section, auto& values) {
    visit_keys(values, [&](const char* key, auto& value, const auto& check) {
      visit(section + "." + key, value, check);
    });
  });
}

/// Reads the YAML recipe that read_recipe() returns for `path` (config/known_recipes.h) and then applies
/// overrides, each "section.key=value". An override of a preset replaces the sizes in the file. Missing keys
/// keep their `defaults`. Errors: InputError (no such recipe); UsageError with file, line and column: not
/// YAML, an unknown key (with the nearest known one), a retired key (with its replacement), a value of the
/// wrong type or out of range, what a part of the recipe refuses (config/recipe_parts.h).
Recipe load_recipe(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                   Recipe defaults = {});
/// Reads a recipe from text. `name` is for the error texts. Errors: the UsageErrors of load_recipe().
Recipe parse_recipe(const std::string& text, const std::string& name,
                    const std::vector<std::string>& overrides, Recipe defaults = {});

/// Returns the keys of a recipe, bound to the values of `recipe`, which must outlive them, in the order in
/// which they are printed.
RecipeKeys recipe_keys(Recipe& recipe);

/// Returns every key with its value, in the same order.
RecipeValues recipe_values(const Recipe& recipe);

/// Returns the recipe with every key, as YAML from which load_recipe() reads the same values.
std::string recipe_yaml(const Recipe& recipe);

}  // namespace plimsoll
