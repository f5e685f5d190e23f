#include "ingest/tables/arrow_table.h"

#include <fmt/format.h>

#include <cerrno>
#include <set>
#include <utility>

#include "base/error.h"
#include "ingest/tables/arrow_buffers.h"
#include "ingest/tables/arrow_values.h"
#include "io/arrow_calls.h"

namespace plimsoll {
namespace {

// Releases a schema with its scope.
struct OwnedSchema {
  ArrowSchema schema{};
  ~OwnedSchema() {
    if (schema.release != nullptr) schema.release(&schema);
  }
};

void release_batch(ArrowArray& batch) {
  if (batch.release != nullptr) batch.release(&batch);
  batch = {};
}

}  // namespace

ArrowTable::ArrowTable(std::string name, ArrowArrayStream& stream)
    : name_(std::move(name)), stream_(std::exchange(stream, {})) {
  if (stream_.release == nullptr)
    throw InputError(fmt::format("table '{}': its stream was read before; pass it again", name_));
  try {
    read_schema();
  } catch (...) {
    stream_.release(&stream_);
    throw;
  }
}

ArrowTable::~ArrowTable() {
  release_batch(batch_);
  stream_.release(&stream_);
}

void ArrowTable::read_schema() {
  OwnedSchema owned;
  const int code = stream_.get_schema(&stream_, &owned.schema);
  if (code != 0) fail(code, "its schema");
  const ArrowSchema& schema = owned.schema;
  if (schema.format == nullptr || std::string_view(schema.format) != "+s" || schema.n_children < 0 ||
      (schema.n_children > 0 && schema.children == nullptr))
    throw InputError(
        fmt::format("table '{}': its stream has no columns, expected batches of a table", name_));
  std::set<std::string> names;
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema* const child = schema.children[i];
    if (child == nullptr) throw InputError(fmt::format("table '{}': column {} has no schema", name_, i));
    const std::string column = child->name == nullptr ? "" : child->name;
    if (!names.insert(column).second)
      throw InputError(fmt::format("table '{}': two columns are named '{}'; rename one", name_, column));
    columns_.push_back({column, {}});
    columns_.back().type = parse_arrow_type(*child, where(columns_.size() - 1));
  }
}

void ArrowTable::fail(int code, const char* what) {
  throw_if_arrow_refused();
  const char* const text = stream_.get_last_error == nullptr ? nullptr : stream_.get_last_error(&stream_);
  const std::string why = text == nullptr ? "no reason given" : text;
  if (code == ENOMEM) throw Failure(fmt::format("table '{}': no memory for {} ({})", name_, what, why));
  throw InputError(fmt::format("table '{}': cannot read {} ({}); fetch or write it again", name_, what, why));
}

int64_t ArrowTable::find(const std::string& column) const {
  for (size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].name == column) return static_cast<int64_t>(i);
  return -1;
}

bool ArrowTable::next() {
  release_batch(batch_);
  const int code = stream_.get_next(&stream_, &batch_);
  if (code != 0) fail(code, "its next rows");
  if (batch_.release == nullptr) {
    batch_ = {};
    return false;
  }
  const ArrowBuffers rows(batch_, name());
  if (batch_.n_children != static_cast<int64_t>(columns_.size()))
    throw rows.broken(fmt::format("{} columns, and its schema {}", batch_.n_children, columns_.size()));
  return true;
}

void ArrowTable::read(size_t column, int64_t first, int64_t rows, Values& values) const {
  const ArrowBuffers batch(batch_, where(column));
  decode_arrow(columns_[column].type, batch.child(static_cast<int64_t>(column)), batch_.offset + first, rows,
               where(column), values);
}

std::string ArrowTable::name() const {
  return fmt::format("table '{}'", name_);
}

std::string ArrowTable::where(size_t column) const {
  return fmt::format("table '{}', column '{}'", name_, columns_[column].name);
}

}  // namespace plimsoll
