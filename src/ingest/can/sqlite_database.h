#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "memory/charge.h"

struct sqlite3;
struct sqlite3_stmt;

namespace plimsoll {

/// A database of SQLite and one statement of it, in 1.5 MiB whatever its size. The library is loaded when the
/// first one is opened. What returns false or `failed` is told by message(). Not thread-safe. Errors: Failure
/// (no library), BudgetExceeded.
class SqliteDatabase {
 public:
  enum class Use : uint8_t { read, write };
  enum class Step : uint8_t { row, done, failed };

  /// `tag`: what its memory stands under.
  SqliteDatabase(const std::filesystem::path& path, Use use, Tag tag);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  bool is_open() const { return open_; }
  bool run(const char* sql);
  /// The statement, in the place of the one before.
  bool prepare(const char* sql);
  Step step();
  /// The statement starts again; what was bound stays.
  void reset();
  std::string message() const;

  /// Of the row that step() came to; valid until the next step.
  bool is_number(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::span<const uint8_t> blob(int column) const;

  /// Parameters count from 1. `bytes` must live until the statement was stepped.
  void bind(int parameter, int64_t value);
  void bind(int parameter, double value);
  void bind(int parameter, std::span<const uint8_t> bytes);

 private:
  Charge charge_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  bool open_ = false;
};

}  // namespace plimsoll
