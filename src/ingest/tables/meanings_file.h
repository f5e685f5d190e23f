#pragma once

#include <filesystem>

#include "ingest/tables/tables.h"

namespace plimsoll {

/// Reads meanings of columns from YAML, a map from tables to maps from columns to meanings. Meanings that the
/// options have already stay. Errors: InputError (no such file, another form, or no
/// such table).
void add_meanings_file(const std::filesystem::path& path, TablesOptions& options);

}  // namespace plimsoll
