#pragma once

#include "ingest/tables/tables.h"
#include "io/location.h"

namespace plimsoll {

/// Adds the tasks of a RelBench folder, in the order of their names. A task is `tasks/NAME/manifest.yaml`
/// with train, val and test tables of labels, Parquet or CSV; a task without labels has no splits. Errors:
/// InputError (a manifest of another form, or one that names a table that is not in the options).
void add_relbench_tasks(const Location& folder, TablesOptions& options);

/// Adds the task of one folder, named by it, in the form of a folder in `tasks/`: for seeds of one's own. The
/// tables must have been added. Labels may also be CSV. Errors: InputError as above, and for a folder without
/// a manifest or labels; UsageError for a task of the same name.
void add_task_folder(const Location& folder, TablesOptions& options);

}  // namespace plimsoll
