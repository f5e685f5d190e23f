#include "ingest/append/checked_column.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll {
namespace {

constexpr size_t kPiece = kMiB;  // Bytes hashed at a time, so that short rows cost little.

}  // namespace

CheckedColumn::CheckedColumn(const DataSetView& set, std::string name) : set_(set), name_(std::move(name)) {
  if (!set.has_column(name_)) return;
  const NpyView& column = set.columns().at(name_);
  data_ = column.data();
  row_bytes_ = data_.size() / static_cast<size_t>(std::max<int64_t>(column.shape().rows(), 1));
}

void CheckedColumn::read_to(int64_t rows) {
  const size_t end = std::min(static_cast<size_t>(rows) * row_bytes_, data_.size());
  if (end > done_) add(std::min((end + kPiece - 1) / kPiece * kPiece, data_.size()));
}

void CheckedColumn::finish() {
  if (!set_.has_column(name_)) return;
  while (done_ < data_.size()) add(std::min(done_ + kPiece, data_.size()));
  const Json expected = set_.manifest().at("columns").at(name_).value("xxh3", Json());
  if (const std::string found = hasher_.hex64(); expected != found)
    throw InputError(
        fmt::format("{}: column '{}' has the checksum {}, expected {} as manifest.json says: its file was "
                    "changed or damaged since the set was made; make the set again (--force)",
                    set_.folder().string(), name_, found, expected.dump()));
}

void CheckedColumn::add(size_t end) {
  hasher_.add(data_.subspan(done_, end - done_));
  done_ = end;
}

}  // namespace plimsoll
