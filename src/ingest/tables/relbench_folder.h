#pragma once

#include "ingest/tables/tables.h"
#include "io/location.h"

namespace plimsoll {

/// Adds the tables and tasks of a data set in the folder format of RelBench v3 to `options`, and its files to
/// the sources. In this format, manifest.yaml names the tables, their keys and times, and db/TABLE.parquet is
/// a table. Errors: InputError (no such folder, a manifest that is not understood, a table without a
/// file), those of add_relbench_tasks(), Failure, those of find_object().
void add_relbench_folder(const Location& folder, TablesOptions& options);

}  // namespace plimsoll
