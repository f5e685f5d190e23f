#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "memory/charge.h"

namespace plimsoll {

/// The classes of files, from a table with a header whose columns `file` and `label` are read; fields are
/// separated by tabs, commas or blanks. Classes are numbered in the order of the bytes of their labels. Not
/// thread-safe.
class SwcLabels {
 public:
  /// Errors: InputError with file and line (no such column, a file that is there twice, a missing field),
  /// BudgetExceeded.
  explicit SwcLabels(const std::filesystem::path& path);

  /// The class of a file, which counts as found; -1 where the table does not have it.
  int64_t find(const std::string& file);
  const std::vector<std::string>& classes() const { return classes_; }
  struct Unused {
    int64_t line;
    std::string file;
  };
  /// The lines whose files find() was not asked for, in order.
  std::vector<Unused> unused() const;

 private:
  struct Entry {
    std::string label;
    int64_t number = 0;
    int64_t line = 0;
    bool used = false;
  };
  Charge charge_;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> classes_;
};

}  // namespace plimsoll
