#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/units.h"
#include "store/data_set.h"

namespace plimsoll {

/// How a data set is compared with its manifest before it is used.
struct ColumnCheck {
  /// Check the checksums of all columns, whatever their size.
  bool full = false;
  /// Maximum total size of a set's files up to which checksums are checked without `full`. In larger sets,
  /// only columns whose files differ from those in `known` are checked.
  int64_t max_bytes = kGiB;
  /// "columns" of the result of check_columns() when the set was read before; empty if unknown.
  Json known = {};
  /// Called with the bytes checked and the total after each chunk. May throw to stop the check.
  std::function<void(int64_t, int64_t)> progress = [](int64_t, int64_t) {};
};

/// Compares the columns of a set with the checksums in its manifest. Returns what a run stores about them:
/// {"manifest": XXH3-64 of manifest.json}, and for a set above `max_bytes` "columns": {NAME: {"bytes",
/// "inode", "changed_ns"}}. Errors: InputError that names the column that differs.
Json check_columns(const DataSetView& set, const ColumnCheck& check = {});

/// Returns XXH3-64 of a column's data, which is read from begin to end. `read` is called with the bytes of
/// each chunk.
std::string column_checksum(
    const NpyView& column, const std::function<void(int64_t)>& read = [](int64_t) {});

}  // namespace plimsoll
