#pragma once

#include <filesystem>
#include <memory>

#include "config/recipe.h"
#include "nn/graph_model.h"
#include "nn/objective.h"
#include "sample/typed/typed_source.h"

namespace plimsoll {

/// Creates the model that a recipe describes for the seeds of a source. Its initial weights depend on the
/// seed of the recipe. For classes, the model has `classes` outputs: the highest label plus one. If
/// TaskSeeds::target_width() is above 0, it has one output for each target, and `classes` is not read.
std::unique_ptr<GraphModel> make_relational_model(const Recipe& recipe, const TypedSource& source,
                                                  int64_t classes);

/// Returns the objective that training minimises for these seeds. `model` must outlive it.
std::unique_ptr<Objective> make_relational_objective(const Recipe& recipe, const GraphModel& model,
                                                     const TaskSeeds& seeds);

/// Sets the units of a regression model (TargetUnits) to the mean and the standard deviation, or 1 if it is
/// 0, of the known values of these seeds. Does nothing for other models. Errors: those of TaskSeeds::value().
void learn_target_units(const TypedSource& source, std::span<const int64_t> seeds, const GraphModel& model);

/// Writes a model as safetensors, with the identity of its training data, the number of its classes and, if
/// labels are texts, a JSON list of them by class. `data` is TrainingData::identity_hash(). Errors: Failure.
void save_relational(const std::filesystem::path& file, const GraphModel& model, const TaskSeeds& seeds,
                     const std::string& data);
/// Reads a model that save_relational() wrote. Errors: InputError for a damaged file, for tensors of other
/// shapes, and for a model that was trained on other data, because statistics and vocabularies would differ.
std::unique_ptr<GraphModel> load_relational(const std::filesystem::path& file, const Recipe& recipe,
                                            const TypedSource& source, const std::string& data);

}  // namespace plimsoll
