#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "base/shared_library.h"
#include "base/units.h"
#include "ingest/can/frame_reader.h"
#include "io/source_reader.h"
#include "memory/charge.h"

// The database of python-can's SqliteWriter: a table `messages` with ts, arbitration_id, extended, remote,
// error, dlc, data (can/io/sqlite.py).

namespace plimsoll {
namespace {

// The functions of SQLite, which is loaded when the first database is opened (cmake/loaded.cmake says why).
class Sqlite {
 private:
  // First: the functions are found in it.
  SharedLibrary library_{PLIMSOLL_LIBSQLITE,
                         "install that library, or convert the log with python-can's can_logconvert"};

 public:
  static const Sqlite& get() {
    static const Sqlite library;
    return library;
  }

#define PLIMSOLL_SQLITE(name) \
  decltype(&sqlite3_##name) const name = library_.function<decltype(&sqlite3_##name)>("sqlite3_" #name)
  PLIMSOLL_SQLITE(open_v2);
  PLIMSOLL_SQLITE(close);
  PLIMSOLL_SQLITE(errmsg);
  PLIMSOLL_SQLITE(exec);
  PLIMSOLL_SQLITE(limit);
  PLIMSOLL_SQLITE(prepare_v2);
  PLIMSOLL_SQLITE(step);
  PLIMSOLL_SQLITE(finalize);
  PLIMSOLL_SQLITE(column_type);
  PLIMSOLL_SQLITE(column_int64);
  PLIMSOLL_SQLITE(column_double);
  PLIMSOLL_SQLITE(column_blob);
  PLIMSOLL_SQLITE(column_bytes);
#undef PLIMSOLL_SQLITE

 private:
  Sqlite() = default;
};

constexpr int64_t kSqliteBytes = 3 * kMiB / 2;  // the library, its cache of 256 KiB, a page and a statement
constexpr const char* kSettings =
    "PRAGMA cache_size=-256; PRAGMA mmap_size=0; PRAGMA trusted_schema=OFF; PRAGMA query_only=ON;";
// A view or a virtual table runs what a stranger wrote.
constexpr const char* kIsTable =
    "SELECT 1 FROM sqlite_master WHERE type='table' AND name='messages' AND sql NOT LIKE 'CREATE VIRTUAL%'";
constexpr const char* kFrames =
    "SELECT ts, arbitration_id, extended, remote, error, data FROM messages ORDER BY rowid";

class SqliteLog : public FrameReader {
 public:
  SqliteLog(const std::filesystem::path& path, const FormatOptions& options)
      : path_(path), taker_(options, path.string()) {
    taker_.name_channel(0, "");  // it tells none
    sqlite3* opened = nullptr;
    const int result =
        sqlite_.open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    database_.reset(opened);
    if (result != SQLITE_OK) fail();
    sqlite_.limit(opened, SQLITE_LIMIT_LENGTH, 1 << 20);
    if (sqlite_.exec(opened, kSettings, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
    prepare(kIsTable);
    if (step() != SQLITE_ROW)
      throw InputError(path.string() +
                       ": found no table 'messages', expected the one of python-can's SqliteWriter");
    prepare(kFrames);
  }

  bool read(size_t most, FrameBatch& out, LineNotes& notes) override {
    for (size_t i = 0; i < most; ++i) {
      if (step() != SQLITE_ROW) return false;
      // Pages of a damaged file may lead into each other.
      if (++row_ > bytes_read() / kLeastRow) refuse("more rows than the file has bytes", "a sound database");
      add_row(out, notes);
    }
    return true;
  }
  CaptureFacts facts() const override { return {.name = "sqlite", .labelled = false}; }
  int64_t bytes_read() const override { return bytes_; }
  int64_t unpacked_bytes() const override { return row_ * kRowBytes; }
  std::string source_hash() const override {
    SourceReader file(path_);
    std::array<char, 64 * kKiB> piece;
    while (file.read(piece.data(), piece.size()) > 0) {
    }
    return file.hash();
  }

 private:
  static constexpr int64_t kRowBytes = 36;  // of a row, about
  static constexpr int64_t kLeastRow = 4;   // bytes, whatever it holds
  struct Close {
    void operator()(sqlite3* database) const { Sqlite::get().close(database); }
    void operator()(sqlite3_stmt* statement) const { Sqlite::get().finalize(statement); }
  };

  void prepare(const char* query) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite_.prepare_v2(database_.get(), query, -1, &prepared, nullptr) != SQLITE_OK) fail();
    rows_.reset(prepared);
  }
  int step() {
    const int result = sqlite_.step(rows_.get());
    if (result != SQLITE_ROW && result != SQLITE_DONE) fail();
    return result;
  }
  [[noreturn]] void fail() {
    const std::string why = database_ == nullptr ? "no memory" : sqlite_.errmsg(database_.get());
    throw InputError(
        fmt::format("{}: found {} after {} frames, expected a database of python-can; write it again",
                    path_.string(), why, row_));
  }
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw InputError(fmt::format("{}: row {}: found {}, expected {}", path_.string(), row_, found, expected));
  }

  void add_row(FrameBatch& out, LineNotes& notes) {
    const int kind = sqlite_.column_type(rows_.get(), 0);
    const double seconds = sqlite_.column_double(rows_.get(), 0);
    if ((kind != SQLITE_FLOAT && kind != SQLITE_INTEGER) || !(seconds >= 0 && seconds < 9e9))
      refuse(fmt::format("{} as a time", seconds), "seconds since 1970, below 9000000000");
    const int64_t number = sqlite_.column_int64(rows_.get(), 1);
    const bool remote = sqlite_.column_int64(rows_.get(), 3) != 0;
    const bool error = sqlite_.column_int64(rows_.get(), 4) != 0;
    if (number < 0 || number > 0x1FFFFFFF) refuse(fmt::format("the ID {}", number), "one of at most 29 bits");
    const bool extended = sqlite_.column_int64(rows_.get(), 2) != 0 || number > 0x7FF;
    const uint32_t id = static_cast<uint32_t>(number) | (remote ? kCanRemote : 0) |
                        (error      ? kCanError
                         : extended ? kCanExtended
                                    : 0);
    const auto* const data = static_cast<const uint8_t*>(sqlite_.column_blob(rows_.get(), 5));
    const auto bytes = static_cast<size_t>(sqlite_.column_bytes(rows_.get(), 5));
    if (bytes > 64) refuse(fmt::format("a payload of {} bytes", bytes), "at most 64");
    taker_.add({std::llround(seconds * 1e9), id, 0, data, remote ? 0 : bytes}, row_, out, notes);
  }

  std::filesystem::path path_;
  FrameTaker taker_;
  const Sqlite& sqlite_ = Sqlite::get();
  Charge charge_{Tag::ingest, kSqliteBytes};
  int64_t bytes_ = static_cast<int64_t>(std::filesystem::file_size(path_));
  std::unique_ptr<sqlite3, Close> database_;
  std::unique_ptr<sqlite3_stmt, Close> rows_;
  int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<FrameReader> open_sqlite(const std::filesystem::path& path, const FormatOptions& options) {
  const std::filesystem::path ending = path.extension();
  if (ending == ".gz" || ending == ".zst" || !std::filesystem::is_regular_file(path))
    throw InputError(path.string() +
                     ": a database is not read from front to back; decompress it to a file first");
  return std::make_unique<SqliteLog>(path, options);
}

}  // namespace plimsoll
