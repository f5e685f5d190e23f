#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ingest/tables/key_columns.h"
#include "ingest/tables/table_scratch.h"
#include "io/external_sort.h"

namespace plimsoll {

/// Maps the keys of a table to its rows, in bounded memory. Keys are sorted on disk. As long as they increase
/// by one from row to row, as is usual in databases, nothing is stored. Not thread-safe. Errors: Failure
/// (disk), BudgetExceeded.
class KeyIndex {
 public:
  /// `name` must be unique in the scratch folder; `where` names the table in messages. `scratch` must outlive
  /// this object.
  KeyIndex(const TableScratch& scratch, std::string name, std::string where, const KeyColumns& columns);

  /// Adds the key of the next row. Errors: also InputError if the key is missing.
  void add(const KeyValue& key);
  /// Ends the adding of keys. Errors: InputError, with both rows, if two rows have the same key.
  void seal();

  const std::string& types() const { return types_; }
  int64_t rows() const { return rows_; }
  /// Whether each key is one more than that of the previous row, so that no sort is needed.
  bool is_consecutive() const { return sorted_ == nullptr; }
  /// Whether the key of each row is the index of the row.
  bool is_row_number() const { return is_consecutive() && (rows_ == 0 || KeyColumns::number(first_) == 0); }
  /// Returns the row of a key that is not missing, or -1. Call it only if is_consecutive().
  int64_t row_of(const KeyValue& key) const {
    const uint64_t row = key.sort - first_;
    return row < static_cast<uint64_t>(rows_) ? static_cast<int64_t>(row) : -1;
  }
  /// Returns the bytes of a record's payload: the row as u32, and the check of keys that are not numbers.
  static size_t payload_bytes(bool is_number) {
    return is_number ? sizeof(uint32_t) : sizeof(uint32_t) + sizeof(uint64_t);
  }
  bool is_number() const { return is_number_; }
  /// The records by key. Call it after seal(), and only if not is_consecutive().
  const ExternalSort& sorted() const { return *sorted_; }
  /// Deletes the files of the index.
  void remove() {
    if (sorted_) sorted_->remove();
  }

 private:
  void start_sort();
  void require_different() const;

  const TableScratch& scratch_;
  std::string name_, where_, types_;
  bool is_number_;
  int64_t rows_ = 0;
  uint64_t first_ = 0;  // Key of the first row.
  std::unique_ptr<ExternalSort> sorted_;
};

/// The payload of a record sorted by key.
struct KeyRecord {
  uint32_t row = 0;
  uint64_t check = 0;

  void read(const std::byte* payload, bool is_number) {
    std::memcpy(&row, payload, sizeof row);
    check = 0;
    if (!is_number) std::memcpy(&check, payload + sizeof row, sizeof check);
  }
  /// Returns the payload. Only the first payload_bytes() bytes are used.
  std::array<std::byte, sizeof(uint32_t) + sizeof(uint64_t)> payload() const {
    std::array<std::byte, sizeof row + sizeof check> bytes{};
    std::memcpy(bytes.data(), &row, sizeof row);
    std::memcpy(bytes.data() + sizeof row, &check, sizeof check);
    return bytes;
  }
};

/// Calls take(row, target) for each record of `foreign`, sorted by key. `target` is the row with that key in
/// the index, or -1. Both must be sealed. The keys of both must be numeric, or those of both must be hashes.
template <typename Take>
void join_keys(const ExternalSort& foreign, const KeyIndex& index, const Take& take) {
  const bool is_number = index.is_number();
  ExternalSort::Reader record = foreign.read();
  std::optional<ExternalSort::Reader> keys;
  if (!index.is_consecutive()) keys.emplace(index.sorted().read());
  std::vector<KeyRecord>
      group;  // Records of the index with the current key; more than one only if hashes collide.
  uint64_t group_key = 0;
  bool more = keys && keys->next();
  KeyRecord found;
  while (record.next()) {
    found.read(record.payload(), is_number);
    if (!keys) {
      take(found.row, index.row_of({.sort = record.key()}));
      continue;
    }
    if (group.empty() || group_key != record.key()) {
      group.clear();
      group_key = record.key();
      while (more && keys->key() < group_key) more = keys->next();
      for (; more && keys->key() == group_key; more = keys->next())
        group.emplace_back().read(keys->payload(), is_number);
    }
    int64_t target = -1;
    for (const KeyRecord& key : group)
      if (key.check == found.check) target = key.row;
    take(found.row, target);
  }
}

}  // namespace plimsoll
