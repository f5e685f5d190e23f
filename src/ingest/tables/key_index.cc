#include "ingest/tables/key_index.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace plimsoll {

KeyIndex::KeyIndex(const TableScratch& scratch, std::string name, std::string where,
                   const KeyColumns& columns)
    : scratch_(scratch),
      name_(std::move(name)),
      where_(std::move(where)),
      types_(columns.types()),
      is_number_(columns.is_number()) {
  if (!is_number_) sorted_ = scratch_.sort(name_, payload_bytes(is_number_));
}

// Starts sorting, with the keys of all rows so far, which increase by one.
void KeyIndex::start_sort() {
  sorted_ = scratch_.sort(name_, payload_bytes(is_number_));
  const int64_t rows = std::exchange(rows_, 0);
  while (rows_ < rows) add({.sort = first_ + static_cast<uint64_t>(rows_)});
}

void KeyIndex::add(const KeyValue& key) {
  if (key.missing)
    throw InputError(fmt::format(
        "{}: row {}, counted from 0, has no key; leave the row out, or do without the key", where_, rows_));
  if (rows_ == 0) first_ = key.sort;
  if (is_consecutive() && key.sort != first_ + static_cast<uint64_t>(rows_)) start_sort();
  if (sorted_ != nullptr) {
    const KeyRecord record{.row = static_cast<uint32_t>(rows_), .check = key.check};
    sorted_->add(key.sort, record.payload().data());
  }
  ++rows_;
}

void KeyIndex::seal() {
  if (sorted_ == nullptr) return;
  sorted_->seal();
  require_different();
}

void KeyIndex::require_different() const {
  ExternalSort::Reader reader = sorted_->read();
  std::vector<KeyRecord> group;
  uint64_t group_key = 0;
  while (reader.next()) {
    if (group.empty() || group_key != reader.key()) group.clear();
    group_key = reader.key();
    KeyRecord record;
    record.read(reader.payload(), is_number_);
    for (const KeyRecord& earlier : group)
      if (earlier.check == record.check)
        throw InputError(fmt::format(
            "{}: rows {} and {}, counted from 0, have the same key{}; keep one of them", where_, earlier.row,
            record.row, is_number_ ? fmt::format(" {}", KeyColumns::number(group_key)) : ""));
    group.push_back(record);
  }
}

}  // namespace plimsoll
