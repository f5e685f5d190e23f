#include "ingest/can/sqlite_database.h"

#include <sqlite3.h>

#include "base/shared_library.h"
#include "base/units.h"

namespace plimsoll {
namespace {

// The functions of SQLite (cmake/loaded.cmake says why they are loaded).
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
  PLIMSOLL_SQLITE(reset);
  PLIMSOLL_SQLITE(finalize);
  PLIMSOLL_SQLITE(column_type);
  PLIMSOLL_SQLITE(column_int64);
  PLIMSOLL_SQLITE(column_double);
  PLIMSOLL_SQLITE(column_blob);
  PLIMSOLL_SQLITE(column_bytes);
  PLIMSOLL_SQLITE(bind_int64);
  PLIMSOLL_SQLITE(bind_double);
  PLIMSOLL_SQLITE(bind_blob);
#undef PLIMSOLL_SQLITE

 private:
  Sqlite() = default;
};

constexpr int64_t kSqliteBytes = 3 * kMiB / 2;  // the library, its cache of 256 KiB, a page and a statement
constexpr int kLongestValue = 1 << 20;

}  // namespace

SqliteDatabase::SqliteDatabase(const std::filesystem::path& path, Use use, Tag tag)
    : charge_(tag, kSqliteBytes) {
  const Sqlite& sqlite = Sqlite::get();
  const int flags = SQLITE_OPEN_NOMUTEX | (use == Use::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  open_ = sqlite.open_v2(path.c_str(), &database_, flags, nullptr) == SQLITE_OK;
  if (open_) sqlite.limit(database_, SQLITE_LIMIT_LENGTH, kLongestValue);
}

SqliteDatabase::~SqliteDatabase() {
  Sqlite::get().finalize(statement_);
  Sqlite::get().close(database_);
}

bool SqliteDatabase::run(const char* sql) {
  return Sqlite::get().exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

bool SqliteDatabase::prepare(const char* sql) {
  Sqlite::get().finalize(statement_);
  statement_ = nullptr;
  return Sqlite::get().prepare_v2(database_, sql, -1, &statement_, nullptr) == SQLITE_OK;
}

SqliteDatabase::Step SqliteDatabase::step() {
  const int result = Sqlite::get().step(statement_);
  return result == SQLITE_ROW ? Step::row : result == SQLITE_DONE ? Step::done : Step::failed;
}

void SqliteDatabase::reset() {
  Sqlite::get().reset(statement_);
}

std::string SqliteDatabase::message() const {
  return database_ == nullptr ? "no memory" : Sqlite::get().errmsg(database_);
}

bool SqliteDatabase::is_number(int column) const {
  const int type = Sqlite::get().column_type(statement_, column);
  return type == SQLITE_FLOAT || type == SQLITE_INTEGER;
}

int64_t SqliteDatabase::integer(int column) const {
  return Sqlite::get().column_int64(statement_, column);
}

double SqliteDatabase::real(int column) const {
  return Sqlite::get().column_double(statement_, column);
}

std::span<const uint8_t> SqliteDatabase::blob(int column) const {
  // In this order: the length is of what the first call gives.
  const auto* const data = static_cast<const uint8_t*>(Sqlite::get().column_blob(statement_, column));
  return {data, static_cast<size_t>(Sqlite::get().column_bytes(statement_, column))};
}

void SqliteDatabase::bind(int parameter, int64_t value) {
  Sqlite::get().bind_int64(statement_, parameter, value);
}

void SqliteDatabase::bind(int parameter, double value) {
  Sqlite::get().bind_double(statement_, parameter, value);
}

void SqliteDatabase::bind(int parameter, std::span<const uint8_t> bytes) {
  // A null pointer would be NULL, not an empty blob.
  const void* const data = bytes.empty() ? static_cast<const void*>("") : bytes.data();
  Sqlite::get().bind_blob(statement_, parameter, data, static_cast<int>(bytes.size()), SQLITE_STATIC);
}

}  // namespace plimsoll
