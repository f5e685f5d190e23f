#pragma once

#include <filesystem>

#include "ingest/tables/tables.h"

namespace plimsoll {

/// Adds the tasks of a RelBench folder, in the order of their names. A task is `tasks/NAME/manifest.yaml`
/// with train, val and test tables of labels; a task without labels has no splits. Errors: InputError (a
/// manifest of another form, or one that names a table that is not in the options).
void add_relbench_tasks(const std::filesystem::path& folder, TablesOptions& options);

}  // namespace plimsoll
