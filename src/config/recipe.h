#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/sections/data.h"
#include "config/sections/distillation.h"
#include "config/sections/features.h"
#include "config/sections/fine_tuning.h"
#include "config/sections/gat.h"
#include "config/sections/gnn.h"
#include "config/sections/memory.h"
#include "config/sections/paths.h"
#include "config/sections/pretraining.h"
#include "config/sections/run.h"
#include "config/sections/sampling.h"
#include "config/sections/split.h"
#include "config/sections/task.h"
#include "config/sections/training.h"
#include "config/sections/vgae.h"
#include "config/yaml_of.h"

namespace plimsoll {

/// What to train, typed. docs/recipe.md documents the keys, defaults and meanings. The header of a section
/// (config/sections) lists its keys, and config/schema.h the sections.
struct Recipe {
  int64_t seed = 42;
  TaskName task = TaskName::detection;
  ModelKind model = ModelKind::gnn;
  std::string init_from = {};  ///< A model file with the initial weights; empty for none.
  TargetScaleSource init_target_scale = TargetScaleSource::data;

  DataSection data;
  FeaturesSection features;
  SplitSection split;
  TrainingSection training;
  SamplingSection sampling;
  MemorySection memory;
  RunSection run;
  GatOptions gat;
  VgaeOptions vgae;
  TeacherSection teacher;
  CurriculumSection curriculum;
  DistillationSection distillation;
  GnnOptions gnn;
  SgmpOptions paths;
  PretrainingOptions pretraining;
  FineTuningSection fine_tuning;

  bool uses_paths() const { return model != ModelKind::gnn; }
  /// Returns the name of the model in tasks of graphs, nodes, pairs or values.
  std::string model_name() const { return std::string(uses_paths() ? word_of(model) : word_of(gnn.conv)); }
};

/// Reads a YAML recipe and then overrides, each "section.key=value". Missing keys keep their `defaults`.
/// Errors: InputError (no such file), UsageError with file, line and column: not YAML, an unknown key (with
/// the nearest known one), a retired key (with its replacement), a value of the wrong type or out of range,
/// incompatible lengths of windows.
Recipe load_recipe(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                   Recipe defaults = {});
/// Reads a recipe from text. `name` is for the error texts.
Recipe parse_recipe(const std::string& text, const std::string& name,
                    const std::vector<std::string>& overrides, Recipe defaults = {});

/// Returns every key with its value, in the order of the schema.
RecipeValues recipe_values(const Recipe& recipe);

/// Returns the recipe with every key, as YAML that load_recipe() reads back to the same values.
std::string recipe_yaml(const Recipe& recipe);

}  // namespace plimsoll
