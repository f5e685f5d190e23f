#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ingest/tables/arrow_type.h"
#include "ingest/tables/values.h"

namespace plimsoll {

/// Reads a table from an Arrow C stream, once, one batch after the other. Not thread-safe.
class ArrowTable {
 public:
  struct Column {
    std::string name;
    ArrowType type;
  };

  /// Takes ownership of the stream. `name` is for messages. Errors: InputError (not a table; two columns with
  /// the same name; a stream that was read before), those of the stream.
  ArrowTable(std::string name, ArrowArrayStream& stream);
  ~ArrowTable();
  ArrowTable(const ArrowTable&) = delete;
  ArrowTable& operator=(const ArrowTable&) = delete;

  /// Returns "table 'users'".
  std::string name() const;
  const std::vector<Column>& columns() const { return columns_; }
  /// Returns the index of a column, or -1.
  int64_t find(const std::string& column) const;
  /// Advances to the next batch, and releases the last one; returns false at the end. Errors: InputError,
  /// Failure (no memory), BudgetExceeded, those of the stream.
  bool next();
  /// Number of rows in the current batch.
  int64_t rows() const { return batch_.length; }
  /// Copies rows of one column of the current batch. Texts are views that are valid until next(). Errors:
  /// InputError, BudgetExceeded.
  void read(size_t column, int64_t first, int64_t rows, Values& values) const;
  /// Returns "table 'users', column 'age'".
  std::string where(size_t column) const;

 private:
  void read_schema();
  [[noreturn]] void fail(int code, const char* what);

  std::string name_;
  ArrowArrayStream stream_;
  ArrowArray batch_{};
  std::vector<Column> columns_;
};

}  // namespace plimsoll
