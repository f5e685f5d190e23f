#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ingest/tables/tables.h"

namespace plimsoll {

/// Parses the value of --table, such as "orders=orders/*.parquet:key=(order,line),time=at,user_id->users",
/// and adds the table and its files to `options`. Errors: UsageError (not understood), those of
/// find_table_files().
void add_table(const std::string& words, TablesOptions& options);

/// Marks a table as an event table. Errors: UsageError (no such table).
void make_edge_table(const std::string& name, TablesOptions& options);

/// Parses the value of --meaning, such as "users.age=category", and adds it to its table. The name of the
/// table ends at the first dot. Errors: UsageError.
void add_meaning(const std::string& words, TablesOptions& options);

}  // namespace plimsoll
