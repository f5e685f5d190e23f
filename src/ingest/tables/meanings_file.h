#pragma once

#include "ingest/tables/tables.h"
#include "io/location.h"

namespace plimsoll {

/// Reads the meanings of columns from a YAML file or object, a map from tables to maps from columns to
/// meanings, and adds the file to the sources. Meanings that are already in the options take precedence.
/// Errors: InputError (no such file, another form, no such table), Failure, those of find_object().
void add_meanings_file(const Location& file, TablesOptions& options);

}  // namespace plimsoll
