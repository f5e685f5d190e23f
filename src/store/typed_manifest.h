#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/data_set.h"

namespace plimsoll {

// Reads the manifest of a graph with node types. Errors of all functions: InputError with file, place and
// remedy.

/// An object of the manifest and where it is, such as "node_types[0].columns[2]".
struct ManifestPlace {
  const Json& object;
  std::string path;
};

InputError damaged_types(const DataSetView& set, const std::string& what);
/// Returns the objects of a list.
std::vector<ManifestPlace> objects_of(const DataSetView& set, const ManifestPlace& parent, const char* key);
std::string text_of(const DataSetView& set, const ManifestPlace& place, const char* key);
/// Returns a number from 0.
int64_t count_of(const DataSetView& set, const ManifestPlace& place, const char* key);
/// Returns an object, or nothing for null or a missing key.
std::optional<ManifestPlace> object_of(const DataSetView& set, const ManifestPlace& parent, const char* key);
/// Checks that the data set has a column of that many rows.
void require_rows(const DataSetView& set, const std::string& column, int64_t rows);
/// Checks that the files of a column of a type, or of the targets of a task, are there with that many rows.
void require_column(const DataSetView& set, const ManifestPlace& column, int64_t rows);

}  // namespace plimsoll
