#include "ingest/tables/key_lookup.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"

namespace plimsoll {

void require_key_types(const KeyColumns& keys, const KeyIndex& index, const std::string& table,
                       const std::string& where) {
  const bool has_values = keys.types().find("nothing") == std::string::npos;
  if (has_values && keys.types() != index.types())
    throw InputError(fmt::format("{}: holds {}, but the key of table '{}' holds {}; store both in one type",
                                 where, keys.types(), table, index.types()));
}

KeyLookup::KeyLookup(const TableScratch& scratch, const std::string& name, const KeyIndex& index)
    : index_(index), by_number_(scratch.sort(name + "-nodes", sizeof(uint32_t))) {
  if (!index.is_consecutive())
    by_key_ = scratch.sort(name + "-keys", KeyIndex::payload_bytes(index.is_number()));
}

void KeyLookup::add(const KeyValue& key) {
  constexpr int64_t kMax = int64_t{1} << 32;
  if (added_ == kMax)
    throw InputError("a table has more than 2^32 rows or items with keys of another; divide it");
  const auto number = static_cast<uint32_t>(added_++);
  if (key.missing) return;
  if (by_key_ == nullptr) return add_node(number, index_.row_of(key));
  const KeyRecord record{.row = number, .check = key.check};
  by_key_->add(key.sort, record.payload().data());
}

void KeyLookup::add_node(uint32_t number, int64_t node) {
  if (node < 0) return;
  const auto narrow = static_cast<uint32_t>(node);
  by_number_->add(number, &narrow);
}

void KeyLookup::seal() {
  if (by_key_ != nullptr) {
    by_key_->seal();
    join_keys(*by_key_, index_, [&](uint32_t number, int64_t node) { add_node(number, node); });
    by_key_.reset();
  }
  by_number_->seal();
  nodes_.emplace(by_number_->read());
  has_node_ = nodes_->next();
}

int64_t KeyLookup::next() {
  const auto number = static_cast<uint64_t>(returned_++);
  if (!has_node_ || nodes_->key() != number) return -1;
  uint32_t node = 0;
  std::memcpy(&node, nodes_->payload(), sizeof node);
  has_node_ = nodes_->next();
  return node;
}

}  // namespace plimsoll
