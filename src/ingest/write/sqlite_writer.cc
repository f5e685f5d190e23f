#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/error.h"
#include "ingest/can/sqlite_database.h"
#include "ingest/write/text_writer.h"

// The database of python-can's SqliteWriter (can/io/sqlite.py).

namespace plimsoll {
namespace {

// The caller syncs the file and gives it its name, so that no journal is needed.
constexpr const char* kSettings =
    "PRAGMA cache_size=-256; PRAGMA mmap_size=0; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
    "CREATE TABLE messages (ts REAL, arbitration_id INTEGER, extended INTEGER, remote INTEGER, error INTEGER,"
    " dlc INTEGER, data BLOB); BEGIN;";

class SqliteWriter : public FormatWriter {
 public:
  explicit SqliteWriter(const std::filesystem::path& path)
      : path_(path), database_(path, SqliteDatabase::Use::write, Tag::output) {
    if (!database_.is_open() || !database_.run(kSettings) ||
        !database_.prepare("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)"))
      fail();
  }

  void add(const OutgoingFrame& frame) override {
    database_.bind(1, nearest_double(frame.time_ns));
    database_.bind(2, int64_t{frame.id()});
    database_.bind(3, int64_t{frame.is_extended()});
    database_.bind(4, int64_t{frame.is_remote()});
    database_.bind(5, int64_t{frame.is_error()});
    database_.bind(6, int64_t{frame.length});
    database_.bind(7, std::span(frame.data, frame.length));
    if (database_.step() != SqliteDatabase::Step::done) fail();
    database_.reset();
  }

  void finish() override {
    if (!database_.run("COMMIT")) fail();
  }

 private:
  // Nanoseconds do not fit in a double: the nearest one is that of the text.
  static double nearest_double(int64_t time_ns) {
    std::array<char, 32> text;
    Pen pen(text.data());
    pen.seconds(time_ns);
    double seconds = 0;
    std::from_chars(text.data(), pen.at(), seconds);
    return seconds;
  }
  [[noreturn]] void fail() const {
    throw Failure(fmt::format("{}: cannot write the database ({})", path_.string(), database_.message()));
  }

  std::filesystem::path path_;
  SqliteDatabase database_;
};

}  // namespace

std::unique_ptr<FormatWriter> write_sqlite(const WriterSetup& setup) {
  return std::make_unique<SqliteWriter>(setup.file.path());
}

}  // namespace plimsoll
