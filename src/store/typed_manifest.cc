#include "store/typed_manifest.h"

#include <fmt/format.h>

namespace plimsoll {

InputError damaged_types(const DataSetView& set, const std::string& what) {
  return InputError(fmt::format("{}: {}; the data set is damaged, make it again",
                                (set.folder() / "manifest.json").string(), what));
}

std::vector<ManifestPlace> objects_of(const DataSetView& set, const ManifestPlace& parent, const char* key) {
  const std::string path = parent.path.empty() ? key : fmt::format("{}.{}", parent.path, key);
  if (!parent.object.contains(key) || !parent.object[key].is_array())
    throw damaged_types(set, fmt::format("{} is no list", path));
  std::vector<ManifestPlace> objects;
  for (const Json& object : parent.object[key]) {
    objects.push_back({object, fmt::format("{}[{}]", path, objects.size())});
    if (!object.is_object()) throw damaged_types(set, fmt::format("{} is no object", objects.back().path));
  }
  return objects;
}

std::string text_of(const DataSetView& set, const ManifestPlace& place, const char* key) {
  if (!place.object.contains(key) || !place.object[key].is_string())
    throw damaged_types(set, fmt::format("{} has no text \"{}\"", place.path, key));
  return place.object[key];
}

int64_t count_of(const DataSetView& set, const ManifestPlace& place, const char* key) {
  const Json count = place.object.value(key, Json());
  if (!count.is_number_integer() || count < 0)
    throw damaged_types(set, fmt::format("{} has no number \"{}\"", place.path, key));
  return count;
}

std::optional<ManifestPlace> object_of(const DataSetView& set, const ManifestPlace& parent, const char* key) {
  const auto found = parent.object.find(key);
  if (found == parent.object.end() || found->is_null()) return std::nullopt;
  if (!found->is_object()) throw damaged_types(set, fmt::format("{}.{} is no object", parent.path, key));
  return ManifestPlace{*found, fmt::format("{}.{}", parent.path, key)};
}

void require_rows(const DataSetView& set, const std::string& column, int64_t rows) {
  const auto found = set.columns().find(column);
  if (found == set.columns().end()) throw damaged_types(set, fmt::format("lists no column '{}'", column));
  const NpyShape& shape = found->second.shape();
  if (shape.shape.empty() || shape.shape[0] != rows)
    throw damaged_types(set, fmt::format("column '{}' has {} rows, expected {}", column, shape.rows(), rows));
}

void require_column(const DataSetView& set, const ManifestPlace& column, int64_t rows) {
  text_of(set, column, "name");
  text_of(set, column, "meaning");
  if (column.object.contains("unit")) text_of(set, column, "unit");
  const std::string values = text_of(set, column, "column");
  if (column.object.contains("ptr")) {
    require_rows(set, text_of(set, column, "ptr"), rows + 1);
    const auto ptr = set.column<int64_t>(text_of(set, column, "ptr"));
    if (ptr.front() != 0)
      throw damaged_types(set, fmt::format("{} names '{}', whose first list is cut", column.path, values));
    require_rows(set, values, ptr.back());
  } else {
    require_rows(set, values, rows);
  }
  if (column.object.contains("valid")) require_rows(set, text_of(set, column, "valid"), rows);
  if (!column.object.contains("vocabulary")) return;
  static_cast<void>(set.column<uint8_t>(text_of(set, column, "vocabulary")));
  static_cast<void>(set.column<int64_t>(text_of(set, column, "vocabulary_ptr")));
}

}  // namespace plimsoll
