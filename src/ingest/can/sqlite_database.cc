#include "ingest/can/sqlite_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/error.h"
#include "base/interrupt.h"
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
  PLIMSOLL_SQLITE(memory_used);
  PLIMSOLL_SQLITE(progress_handler);
  PLIMSOLL_SQLITE(set_authorizer);
  PLIMSOLL_SQLITE(prepare_v2);
  PLIMSOLL_SQLITE(step);
  PLIMSOLL_SQLITE(stricmp);
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
constexpr int kLongestValue = 1 << 16;          // a statement as well
constexpr int kStepsBetween = 100;              // looks at signals and memory: a step may work on long values

}  // namespace

SqliteDatabase::SqliteDatabase(const std::filesystem::path& path, Use use, Tag tag)
    : charge_(tag, kSqliteBytes), used_before_(Sqlite::get().memory_used()) {
  const Sqlite& sqlite = Sqlite::get();
  const int flags = SQLITE_OPEN_NOMUTEX | (use == Use::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  open_ = sqlite.open_v2(path.c_str(), &database_, flags, nullptr) == SQLITE_OK;
  if (!open_) return;
  sqlite.limit(database_, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite.limit(database_, SQLITE_LIMIT_SQL_LENGTH, kLongestValue);
  sqlite.progress_handler(database_, kStepsBetween, on_progress, this);
}

SqliteDatabase::~SqliteDatabase() {
  Sqlite::get().finalize(statement_);
  Sqlite::get().close(database_);
}

void SqliteDatabase::refuse_after(int64_t steps) {
  most_steps_ = steps;
  steps_ = 0;
}

void SqliteDatabase::allow_only(const char* table) {
  Sqlite::get().set_authorizer(database_, on_access, const_cast<char*>(table));
}

int SqliteDatabase::on_progress(void* database) {
  auto& self = *static_cast<SqliteDatabase*>(database);
  self.steps_ += kStepsBetween;
  const int64_t used = Sqlite::get().memory_used() - self.used_before_;
  try {
    if (used > self.charge_.bytes()) self.charge_.add(used - self.charge_.bytes());
  } catch (...) {  // no exception passes through the library
    self.over_budget_ = std::current_exception();
  }
  return interrupt_requested || self.steps_ > self.most_steps_ || self.over_budget_ ? 1 : 0;
}

int SqliteDatabase::on_access(void* table, int action, const char* first, const char* /*second*/,
                              const char* /*base*/, const char* view) {
  if (view != nullptr) return SQLITE_DENY;
  if (action == SQLITE_SELECT) return SQLITE_OK;
  const bool reads_it = action == SQLITE_READ && first != nullptr &&
                        Sqlite::get().stricmp(first, static_cast<const char*>(table)) == 0;
  return reads_it ? SQLITE_OK : SQLITE_DENY;
}

void SqliteDatabase::throw_if_ended() {
  if (over_budget_) std::rethrow_exception(over_budget_);
  if (interrupt_requested) throw Interrupted("interrupted while a database was read");
}

bool SqliteDatabase::run(const char* sql) {
  const bool done = Sqlite::get().exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  if (!done) throw_if_ended();
  return done;
}

bool SqliteDatabase::prepare(const char* sql) {
  Sqlite::get().finalize(statement_);
  statement_ = nullptr;
  const bool done = Sqlite::get().prepare_v2(database_, sql, -1, &statement_, nullptr) == SQLITE_OK;
  if (!done) throw_if_ended();
  return done;
}

SqliteDatabase::Step SqliteDatabase::step() {
  const int result = Sqlite::get().step(statement_);
  if (result == SQLITE_ROW) {
    steps_ = 0;
    return Step::row;
  }
  if (result == SQLITE_DONE) return Step::done;
  throw_if_ended();
  return Step::failed;
}

void SqliteDatabase::reset() {
  Sqlite::get().reset(statement_);
}

std::string SqliteDatabase::message() const {
  if (steps_ > most_steps_) return fmt::format("no row within {} steps", most_steps_);
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
