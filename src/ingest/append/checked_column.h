#pragma once

#include <cstddef>
#include <string>

#include "base/hash.h"
#include "store/data_set.h"

namespace plimsoll {

/// Compares a column of a data set with its checksum while the column is read in order, so that it is read
/// once. Not thread-safe.
class CheckedColumn {
 public:
  /// The set must outlive this object. If the set does not have the column, nothing is compared.
  CheckedColumn(const DataSetView& set, std::string name);

  /// Adds the first `rows` rows to the checksum. Call it before they are read, with rising numbers, so that
  /// each page is read from the disk once.
  void read_to(int64_t rows);
  /// Reads the rest and compares. Errors: InputError that names the column.
  void finish();

 private:
  void add(size_t end);

  const DataSetView& set_;
  std::string name_;
  std::span<const std::byte> data_;
  size_t row_bytes_ = 0;
  size_t done_ = 0;  // Bytes.
  Hasher hasher_;
};

}  // namespace plimsoll
