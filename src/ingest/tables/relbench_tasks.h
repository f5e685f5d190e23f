#pragma once

#include <filesystem>

#include "ingest/tables/tables.h"

namespace plimsoll {

/// Adds the tasks of a RelBench folder, `tasks/NAME/manifest.yaml` with train, val and test tables of labels,
/// in the order of their names. A task without labels has no splits. Errors: InputError (a manifest that is
/// not of this form, or that names no table of the options).
void add_relbench_tasks(const std::filesystem::path& folder, TablesOptions& options);

}  // namespace plimsoll
