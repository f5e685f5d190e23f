#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/units.h"
#include "store/data_set.h"

namespace plimsoll {

/// How to compare the columns of a data set with its manifest before the set is used.
struct ColumnCheck {
  /// Compare the checksums of all columns, whatever their size.
  bool full = false;
  /// If the columns of a set have at most this total size, all checksums are compared even without `full`. In
  /// larger sets, only columns that `known` lists with another state of their file are compared.
  int64_t max_bytes = kGiB;
  /// "columns" in the result of the last check_columns() of this set; empty if unknown.
  Json known = {};
  /// Called after each chunk with the bytes checked so far and the total. May throw to stop the check.
  std::function<void(int64_t, int64_t)> progress = [](int64_t, int64_t) {};
};

/// Compares the columns of a set with the checksums in its manifest. Returns the entry that a run stores
/// about them: {"manifest": XXH3-64 of manifest.json} and, for a set larger than `max_bytes`, "columns":
/// {NAME: {"bytes", "inode", "changed_ns"}}. Errors: InputError that names the column that differs; Failure
/// (a file cannot be read); those of `progress`.
Json check_columns(const DataSetView& set, const ColumnCheck& check = {});

/// Returns XXH3-64 of a column's data. `read` is called with the number of bytes in each chunk.
std::string column_checksum(
    const NpyView& column, const std::function<void(int64_t)>& read = [](int64_t) {});

}  // namespace plimsoll
