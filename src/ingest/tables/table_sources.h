#pragma once

#include <string>

#include "base/json.h"
#include "ingest/tables/table_files.h"
#include "ingest/tables/tables.h"

namespace plimsoll {

/// Add the files or objects of a table, or a single file or object, to the sources of the options. Errors:
/// InputError for an object that does not exist, and those of find_object().
void add_sources(const TableFiles& table, TablesOptions& options);
void add_source(const Location& location, TablesOptions& options);

/// Returns the sources for the provenance: the hashes of files, the sizes and ETags of objects, or else the
/// names of the tables. Reads all files completely. Errors: those of source_hashes().
Json sources_of(const TablesOptions& options);

}  // namespace plimsoll
