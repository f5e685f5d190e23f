#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/units.h"
#include "store/data_set.h"

namespace plimsoll {

/// How a data set is compared with its manifest before it is used.
struct ColumnCheck {
  /// Checksums of all columns, whatever their size.
  bool full = false;
  /// Sets whose files are larger, all together, have no checksum checked unless it is `full`, but those of
  /// columns that are others than those `known`.
  int64_t max_bytes = kGiB;
  /// "columns" of what check_columns() gave when the set was read before; null: nothing is known.
  Json known = {};
  /// Bytes checked and in all, after each piece; may throw to end it.
  std::function<void(int64_t, int64_t)> progress = [](int64_t, int64_t) {};
};

/// Compares the columns of a set with the checksums in its manifest. Gives what a run keeps of it:
/// {"manifest": XXH3-64 of manifest.json}, and for a set above `max_bytes` "columns": {NAME: {"bytes",
/// "inode", "changed_ns"}}. Errors: InputError that names the column which is not what the manifest says.
Json check_columns(const DataSetView& set, const ColumnCheck& check = {});

/// XXH3-64 of a column's data, which is read from begin to end; `read` gets the bytes of each piece.
std::string column_checksum(
    const NpyView& column, const std::function<void(int64_t)>& read = [](int64_t) {});

}  // namespace plimsoll
