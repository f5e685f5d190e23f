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
  /// The set must outlive this object. A column that the set does not have is not compared.
  CheckedColumn(const DataSetView& set, std::string name);

  /// Call it before the first `rows` rows are read. Several calls read the column once.
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
