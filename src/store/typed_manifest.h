#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/data_set.h"

namespace plimsoll {

// Functions that read the manifest of a graph with node types. Errors of all: InputError with file, place and
// remedy.

/// An object of the manifest, which must outlive this one, and its place, such as "node_types[0].columns[2]".
struct ManifestPlace {
  const Json& object;
  std::string path;
};

/// Returns the error "FILE: WHAT; the data set is damaged, make it again".
InputError damaged_types(const DataSetView& set, const std::string& what);
/// Returns the objects of the list under `key`.
std::vector<ManifestPlace> objects_of(const DataSetView& set, const ManifestPlace& parent, const char* key);
/// Returns the text under `key`.
std::string text_of(const DataSetView& set, const ManifestPlace& place, const char* key);
/// Returns the whole number under `key`, which must be at least 0.
int64_t count_of(const DataSetView& set, const ManifestPlace& place, const char* key);
/// Returns the object under `key`; nullopt if it is null or the key is missing.
std::optional<ManifestPlace> object_of(const DataSetView& set, const ManifestPlace& parent, const char* key);
/// Checks that the data set has the column and that it has `rows` rows.
void require_rows(const DataSetView& set, const std::string& column, int64_t rows);
/// Checks that the files of a column of a type, or of the targets of a task, exist and have `rows` rows; for
/// lists, that their ends have one row more, and the values as many as the last end says.
void require_column(const DataSetView& set, const ManifestPlace& column, int64_t rows);

}  // namespace plimsoll
