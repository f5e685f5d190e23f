#pragma once

#include <memory>

#include "run/task.h"

namespace plimsoll {

/// Opens a graph with node types to train a model for the task that the recipe names. Errors: those of
/// RelationalData; UsageError for settings that models of node types do not support.
std::unique_ptr<Training> open_relational_training(RunRequest request);

}  // namespace plimsoll
