#pragma once

#include "ingest/tables/tables.h"
#include "io/location.h"

namespace plimsoll {

/// Adds the tasks of a RelBench folder, in the order of their names. A task is `tasks/NAME/manifest.yaml`
/// with train, val and test tables of labels, Parquet or CSV. A task without labels has no splits. The
/// rows of its table are the seeds of a task of the kind `autocomplete` if it has no labels, or its table has
/// no key of one column. Errors: InputError (a manifest of another form, or one that names a table that is
/// not in the options), Failure, those of find_object().
void add_relbench_tasks(const Location& folder, TablesOptions& options);

/// Adds the task of one folder in the form of a folder in `tasks/`, for seeds that the user chooses. The
/// name of the folder is the name of the task. The tables must have been added. Errors: as above, InputError
/// for a folder without a manifest or labels, UsageError for a task of the same name.
void add_task_folder(const Location& folder, TablesOptions& options);

}  // namespace plimsoll
