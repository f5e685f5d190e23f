#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/data_set.h"
#include "store/typed_graph.h"

namespace plimsoll {

/// The files of one column of a node type, or of the targets of a task: the values and, if any value is
/// missing, a mask of missing values. Not thread-safe.
class ColumnFiles {
 public:
  /// `owner` has the first parts of the files' names, such as {"users"}. `set` must outlive this object.
  ColumnFiles(DataSetWriter& set, std::vector<std::string> owner, std::string name)
      : set_(set), owner_(std::move(owner)), name_(std::move(name)) {}

  DataSetWriter& set() const { return set_; }
  const std::string& name() const { return name_; }
  /// Returns the name of a column of the data set, such as "users.values.age".
  std::string file(const char* role) const {
    std::vector<std::string_view> parts(owner_.begin(), owner_.end());
    parts.insert(parts.end(), {role, name_});
    return typed_column(parts);
  }
  int64_t rows() const { return rows_; }
  int64_t missing() const { return missing_; }

  /// Appends rows to the mask: 1 for a value, 0 for a missing one.
  void add_validity(std::span<const uint8_t> valid);
  /// Completes the mask, and returns the first keys of the column's entry in the manifest.
  Json finish(std::string_view meaning);

 private:
  DataSetWriter& set_;
  std::vector<std::string> owner_;
  std::string name_;
  NpyWriter* valid_ = nullptr;
  int64_t rows_ = 0;
  int64_t missing_ = 0;
};

/// Replaces the column `name` of type From, with rows of the shape `row`, with one of type To, which has the
/// numbers that `change` returns. Errors: those of DataSetWriter::rewrite().
template <typename From, typename To, typename Change>
void store_as(DataSetWriter& set, const std::string& name, const std::vector<int64_t>& row,
              const Change& change) {
  set.rewrite(name, npy_dtype<To>(), row, [&](const NpyView& from, NpyWriter& to) {
    constexpr size_t kAtOnce = 16384;
    Vector<To, Tag::output> buffer(kAtOnce);
    const std::span<const From> values = from.values<From>();
    for (size_t at = 0; at < values.size(); at += kAtOnce) {
      const size_t count = std::min(kAtOnce, values.size() - at);
      for (size_t i = 0; i < count; ++i) buffer[i] = static_cast<To>(change(values[at + i]));
      to.append(std::span<const To>(buffer.data(), count));
    }
  });
}

/// Stores a column in the narrowest type of whole numbers that holds `min` to `max`, the limits of the
/// results of `change`. `change` is applied to each number, except in a column of int64 that stays int64 and
/// is not rewritten.
template <typename From, typename Change>
void store_whole(DataSetWriter& set, const std::string& name, int64_t min, int64_t max,
                 const Change& change) {
  const auto fits = [&](int64_t bound) { return min >= -bound && max < bound; };
  if (fits(int64_t{1} << 7)) return store_as<From, int8_t>(set, name, {}, change);
  if (fits(int64_t{1} << 15)) return store_as<From, int16_t>(set, name, {}, change);
  if (fits(int64_t{1} << 31)) return store_as<From, int32_t>(set, name, {}, change);
  if constexpr (sizeof(From) == 8) return;
  store_as<From, int64_t>(set, name, {}, change);
}

}  // namespace plimsoll
