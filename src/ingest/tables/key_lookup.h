#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ingest/tables/key_index.h"

namespace plimsoll {

/// Checks that foreign keys have the same types as a table's key, unless they have no values. `where` names
/// the foreign keys in messages. Errors: InputError.
void require_key_types(const KeyColumns& keys, const KeyIndex& index, const std::string& table,
                       const std::string& where);

/// Returns the node of a key, or -1; a missing key has none. Call it only if the index needs no sort.
inline int64_t node_of(const KeyIndex& index, const KeyValue& key) {
  return key.missing ? -1 : index.row_of(key);
}

/// Finds the nodes of keys in any order, in bounded memory. First all keys are added, then their nodes are
/// returned in the same order. Not thread-safe. Errors: InputError (more than 2^32 keys), Failure (disk),
/// BudgetExceeded.
class KeyLookup {
 public:
  /// `name` must be unique in the scratch folder. The index must be sealed, outlive this object and have
  /// keys of the same types.
  KeyLookup(const TableScratch& scratch, const std::string& name, const KeyIndex& index);

  /// Adds a key, which may be missing.
  void add(const KeyValue& key);
  /// Ends the adding of keys.
  void seal();
  /// Returns the node of the next key, or -1 if no node has it or it is missing. Call it after seal().
  int64_t next();

 private:
  void add_node(uint32_t number, int64_t node);

  const KeyIndex& index_;
  // Payload: KeyRecord with the position of the key; null if not needed.
  std::unique_ptr<ExternalSort> by_key_;
  std::unique_ptr<ExternalSort> by_number_;  // Key: position of the key. Payload: node.
  std::optional<ExternalSort::Reader> nodes_;
  int64_t added_ = 0, returned_ = 0;
  bool has_node_ = false;
};

}  // namespace plimsoll
