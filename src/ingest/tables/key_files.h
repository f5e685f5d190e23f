#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "ingest/tables/key_columns.h"
#include "store/data_set.h"

namespace plimsoll {

/// Writes the user's keys of a node type, so that output can name nodes by key. Not thread-safe. Errors:
/// Failure (disk), BudgetExceeded.
class KeyFiles {
 public:
  /// `set` must outlive this object.
  KeyFiles(DataSetWriter& set, std::string node_type, const ArrowTable& table,
           const std::vector<std::string>& columns);

  /// Appends the keys of some rows. No key may be missing.
  void add(const KeyColumns& keys);
  /// Completes the files and returns the entry for the manifest, a list of the key's columns. A key that is
  /// the index of its row has no file.
  Json finish(bool is_row_number);

 private:
  struct Part {
    std::string name;
    bool is_text = false;
    NpyWriter* values = nullptr;
    NpyWriter* ends = nullptr;
    int64_t bytes = 0;
  };

  DataSetWriter& set_;
  std::string node_type_;
  std::vector<Part> parts_;
};

}  // namespace plimsoll
