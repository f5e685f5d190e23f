#pragma once

#include <memory>

#include "run/task.h"

namespace plimsoll {

/// Opens a graph with node types to train a model of the task that the recipe names. Errors: those of
/// RelationalData; UsageError for what models of node types cannot do.
std::unique_ptr<Training> open_relational_training(RunRequest request);

}  // namespace plimsoll
