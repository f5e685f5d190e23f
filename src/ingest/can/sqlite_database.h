#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "memory/charge.h"

struct sqlite3;
struct sqlite3_stmt;

namespace plimsoll {

/// A database of SQLite and one statement of it, in 1.5 MiB whatever its size; what a description of many
/// tables takes beside that stands in the ledger. The library is loaded when the first one is opened. What
/// returns false or `failed` is told by message(). Not thread-safe. Errors: Failure (no library),
/// BudgetExceeded and, of what runs statements, Interrupted.
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
  /// What runs from now on fails after so many steps of the library's machine without a row.
  void refuse_after(int64_t steps);
  /// Statements that are prepared from now on may read this table and nothing else, and none passes through a
  /// view or a recursion: what the file says of itself may be written by a stranger.
  void allow_only(const char* table);
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
  static int on_progress(void* database);
  static int on_access(void* table, int action, const char* first, const char* second, const char* base,
                       const char* view);
  // Throws where a statement failed because the process has to stop or the budget is used up.
  void throw_if_ended();

  Charge charge_;
  int64_t used_before_;  // by all of the library
  int64_t steps_ = 0;    // since the last row
  int64_t most_steps_ = std::numeric_limits<int64_t>::max();
  std::exception_ptr over_budget_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  bool open_ = false;
};

}  // namespace plimsoll
