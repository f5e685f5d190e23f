#include "ingest/tables/key_columns.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/hash64.h"

namespace plimsoll {
namespace {

std::string key_type(const ArrowTable& table, size_t column) {
  const ArrowType& type = table.columns()[column].type;
  switch (type.kind) {
    case ValueKind::integer:
    case ValueKind::boolean:
    case ValueKind::real:
      return "integer";
    case ValueKind::text:
      return "text";
    case ValueKind::time:
      return "time in " + type.unit;
    case ValueKind::nothing:
      return "nothing";
    case ValueKind::vector:
    case ValueKind::list:
    case ValueKind::other:
      break;
  }
  throw InputError(
      fmt::format("{}: has the Arrow format '{}', expected integers or texts, because it is a key",
                  table.where(column), type.format));
}

}  // namespace

KeyColumns::KeyColumns(const ArrowTable& table, const std::vector<std::string>& columns)
    : values_(columns.size()), is_number_(columns.size() == 1) {
  for (const std::string& column : columns) {
    const int64_t found = table.find(column);
    if (found < 0)
      throw UsageError(fmt::format("{}: has no column '{}', which should be a key", table.name(), column));
    columns_.push_back(static_cast<size_t>(found));
    kinds_.push_back(table.columns()[columns_.back()].type.kind);
    if (!types_.empty()) types_ += ", ";
    types_ += key_type(table, columns_.back());
    is_number_ = is_number_ && kinds_.back() != ValueKind::text;
  }
}

// Converts reals to whole numbers: whole numbers with missing values are often stored as reals.
void KeyColumns::make_whole(const ArrowTable& table, size_t part) {
  constexpr double kEnd = 9007199254740992.0;  // From 2^53 on, doubles cannot represent every whole number.
  Values& values = values_[part];
  values.integers.assign(values.rows, 0);
  for (size_t row = 0; row < values.rows; ++row) {
    if (values.valid[row] == 0) continue;
    const double value = values.reals[row];
    if (std::trunc(value) != value || std::abs(value) >= kEnd)
      throw InputError(fmt::format("{}: holds {}, expected whole numbers below 2^53, because it is a key",
                                   table.where(columns_[part]), value));
    values.integers[row] = static_cast<int64_t>(value);
  }
}

void KeyColumns::read(const ArrowTable& table, int64_t first, int64_t rows, std::span<const uint8_t> kept) {
  for (size_t part = 0; part < columns_.size(); ++part) {
    Values& values = values_[part];
    table.read(columns_[part], first, rows, values);
    if (!kept.empty()) values.keep(kept, 1);
    if (kinds_[part] == ValueKind::real) make_whole(table, part);
    if (kinds_[part] == ValueKind::nothing) values.integers.assign(values.rows, 0);
  }
}

KeyValue KeyColumns::key(size_t row) const {
  for (const Values& part : values_)
    if (part.valid[row] == 0) return {.missing = true};
  if (is_number_) return {.sort = static_cast<uint64_t>(values_[0].integers[row]) ^ kSign};
  bytes_.clear();
  for (size_t part = 0; part < values_.size(); ++part) {
    const Values& values = values_[part];
    const bool is_text = kinds_[part] == ValueKind::text;
    const int64_t head = is_text ? static_cast<int64_t>(values.texts[row].size()) : values.integers[row];
    bytes_.append(reinterpret_cast<const char*>(&head), sizeof head);
    if (is_text) bytes_.append(values.texts[row]);
  }
  return {.sort = hash64(bytes_, 1), .check = hash64(bytes_, 2)};
}

}  // namespace plimsoll
