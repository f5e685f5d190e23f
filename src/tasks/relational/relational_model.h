#pragma once

#include <filesystem>
#include <memory>

#include "config/recipe.h"
#include "nn/graph_model.h"
#include "nn/objective.h"
#include "sample/typed/typed_source.h"

namespace plimsoll {

/// Creates the model that a recipe describes for the seeds of a source. `classes`, the greatest label
/// plus one, is for tasks with one label per seed. If TaskSeeds::target_width() is positive, the model has
/// one output for each target, and `classes` is not read.
std::unique_ptr<GraphModel> make_relational_model(const Recipe& recipe, const TypedSource& source,
                                                  int64_t classes);

/// Returns the objective that training minimises for these seeds.
std::unique_ptr<Objective> make_relational_objective(const Recipe& recipe, const GraphModel& model,
                                                     const TaskSeeds& seeds);

/// Stores the mean and standard deviation (1 if it is 0) of these seeds' targets without NaN in the buffers
/// of a regression model, which scales its outputs by them. Does nothing for other models.
void learn_target_units(const TypedSource& source, std::span<const int64_t> seeds, const GraphModel& model);

/// Writes a model as safetensors, with the identity of its training data, the number of its classes and, if
/// labels are texts, a JSON list of them by class.
void save_relational(const std::filesystem::path& file, const GraphModel& model, const TaskSeeds& seeds,
                     const std::string& data);
/// Reads a model that save_relational() wrote. Errors: InputError for a model that was trained on other data,
/// because its statistics and vocabularies would differ.
std::unique_ptr<GraphModel> load_relational(const std::filesystem::path& file, const Recipe& recipe,
                                            const TypedSource& source, const std::string& data);

}  // namespace plimsoll
