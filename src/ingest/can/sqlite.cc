#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "ingest/can/fields.h"
#include "ingest/can/frame_reader.h"
#include "ingest/can/sqlite_database.h"
#include "io/file_ending.h"
#include "io/source_reader.h"

// The database of python-can's SqliteWriter: a table `messages` with ts, arbitration_id, extended, remote,
// error, dlc, data (can/io/sqlite.py).

namespace plimsoll {
namespace {

constexpr const char* kSettings =
    "PRAGMA cache_size=-256; PRAGMA mmap_size=0; PRAGMA trusted_schema=OFF; PRAGMA query_only=ON;";
// A view or a virtual table runs what a stranger wrote. SQLite begins the text of a table so.
constexpr const char* kIsTable =
    "SELECT 1 FROM sqlite_master WHERE type='table' AND name='messages' AND sql LIKE 'CREATE TABLE%'";
constexpr const char* kFrames =
    "SELECT ts, arbitration_id, extended, remote, error, data FROM messages ORDER BY rowid";

class SqliteLog : public FrameReader {
 public:
  SqliteLog(const std::filesystem::path& path, const FormatOptions& options)
      : path_(path), taker_(options, path.string()), database_(path, SqliteDatabase::Use::read, Tag::ingest) {
    taker_.name_channel(0, "");  // it tells none
    // Pages of a damaged file may lead into each other, and it may say what it likes of its tables.
    database_.refuse_after(kLeastSteps);
    if (!database_.is_open() || !database_.run(kSettings) || !database_.prepare(kIsTable)) fail();
    if (!step())
      throw InputError(path.string() +
                       ": found no table 'messages', expected the one of python-can's SqliteWriter");
    database_.refuse_after(kLeastSteps + bytes_);
    database_.allow_only("messages");
    if (!database_.prepare(kFrames)) fail();
  }

  bool read(size_t most, FrameBatch& out, LineNotes& notes) override {
    for (size_t i = 0; i < most; ++i) {
      if (!step()) return false;
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
  static constexpr int64_t kLeastSteps = 1'000'000;
  static constexpr int64_t kRowBytes = 36;  // of a row, about
  static constexpr int64_t kLeastRow = 4;   // bytes, whatever it holds

  // False after the last row.
  bool step() {
    const SqliteDatabase::Step result = database_.step();
    if (result == SqliteDatabase::Step::failed) fail();
    return result == SqliteDatabase::Step::row;
  }
  [[noreturn]] void fail() {
    throw InputError(
        fmt::format("{}: found {} after {} frames, expected a database of python-can; write it again",
                    path_.string(), database_.message(), row_));
  }
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw InputError(fmt::format("{}: row {}: found {}, expected {}", path_.string(), row_, found, expected));
  }

  // The shortest decimal number that is this double: that from which it was made, if it had whole us.
  int64_t time_of(double seconds) const {
    std::array<char, 64> text;
    const auto [end, failed] =
        std::to_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
    LineNotes finer_than_ns;
    if (failed != std::errc()) return std::llround(seconds * 1e9);
    return parse_seconds({text.data(), static_cast<size_t>(end - text.data())}, finer_than_ns);
  }

  void add_row(FrameBatch& out, LineNotes& notes) {
    const double seconds = database_.real(0);
    if (!database_.is_number(0) || !(seconds >= 0 && seconds <= 9e9))
      refuse(fmt::format("{} as a time", seconds), "seconds since 1970, at most 9000000000");
    const int64_t number = database_.integer(1);
    const bool remote = database_.integer(3) != 0;
    const bool error = database_.integer(4) != 0;
    if (number < 0 || number > 0x1FFFFFFF) refuse(fmt::format("the ID {}", number), "one of at most 29 bits");
    const bool extended = database_.integer(2) != 0 || number > 0x7FF;
    const uint32_t id = static_cast<uint32_t>(number) | (remote ? kCanRemote : 0) |
                        (error      ? kCanError
                         : extended ? kCanExtended
                                    : 0);
    const std::span<const uint8_t> data = database_.blob(5);
    if (data.size() > 64) refuse(fmt::format("a payload of {} bytes", data.size()), "at most 64");
    taker_.add({time_of(seconds), id, 0, data.data(), remote ? 0 : data.size()}, row_, out, notes);
  }

  std::filesystem::path path_;
  FrameTaker taker_;
  SqliteDatabase database_;
  int64_t bytes_ = static_cast<int64_t>(std::filesystem::file_size(path_));
  int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<FrameReader> open_sqlite(const std::filesystem::path& path, const FormatOptions& options) {
  if (is_compressed_name(path) || !std::filesystem::is_regular_file(path))
    throw InputError(path.string() +
                     ": a database is not read from front to back; decompress it to a file first");
  return std::make_unique<SqliteLog>(path, options);
}

}  // namespace plimsoll
