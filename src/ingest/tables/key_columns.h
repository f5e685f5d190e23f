#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "ingest/tables/arrow_table.h"

namespace plimsoll {

/// A key as 128 bits. A single whole number, boolean or time is stored in `sort` in a form that sorts like
/// the number. Texts, and keys of several columns, are stored as two hashes of their bytes. Different keys
/// with the same 128 bits are not to be expected in any real table.
struct KeyValue {
  uint64_t sort = 0;
  uint64_t check = 0;
  bool missing = false;  ///< Whether one of the key's columns has no value.
};

/// Reads the key, or the foreign key, of each row from one or several columns. Not thread-safe.
class KeyColumns {
 public:
  /// Finds the columns. Errors: UsageError (no such column), InputError (a type that cannot be a key).
  KeyColumns(const ArrowTable& table, const std::vector<std::string>& columns);

  /// The types of the columns, such as "integer" or "text, integer". Keys of different types are never equal.
  const std::string& types() const { return types_; }
  /// Whether a key is a single number, boolean or time. `check` is then 0.
  bool is_number() const { return is_number_; }
  const std::vector<size_t>& columns() const { return columns_; }
  /// Reads the keys of some rows of the current batch, except rows for which `kept` is 0. If `kept` is empty,
  /// reads all. Texts are valid until the next batch. Errors: InputError (a real number that is not whole, or
  /// not below 2^53), BudgetExceeded.
  void read(const ArrowTable& table, int64_t first, int64_t rows, std::span<const uint8_t> kept);
  /// The values of each column in the rows that read() has kept.
  const std::vector<Values>& values() const { return values_; }
  size_t rows() const { return values_[0].rows; }
  /// Returns the key of a row, counted among the rows that read() has kept.
  KeyValue key(size_t row) const;

  /// Returns the key that is a whole number.
  static KeyValue of_number(int64_t number, bool is_there) {
    return {.sort = static_cast<uint64_t>(number) ^ kSign, .missing = !is_there};
  }
  /// Returns the number of a numeric key from its `sort`.
  static int64_t number(uint64_t sort) { return static_cast<int64_t>(sort ^ kSign); }

 private:
  static constexpr uint64_t kSign = uint64_t{1} << 63;
  void make_whole(const ArrowTable& table, size_t part);

  std::vector<size_t> columns_;
  std::vector<ValueKind> kinds_;
  std::vector<Values> values_;
  std::string types_;
  bool is_number_;
  mutable std::string bytes_;
};

}  // namespace plimsoll
