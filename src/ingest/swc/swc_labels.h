#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "memory/charge.h"

namespace plimsoll {

/// The classes of files, from a table whose header has the columns `file` and `label`. Fields are separated
/// as Delimited::open() determines. Classes are numbered in the byte order of their labels. Not thread-safe.
class SwcLabels {
 public:
  /// Reads the table. Errors: InputError with file and line (a missing column, a duplicate file, a missing
  /// field), Failure, BudgetExceeded.
  explicit SwcLabels(const std::filesystem::path& path);

  /// Returns the class of a file, whose name is from SwcSource::next(), and marks the file as used; -1 if the
  /// table does not contain it.
  int64_t find(const std::string& file);
  const std::vector<std::string>& classes() const { return classes_; }
  struct Unused {
    int64_t line;
    std::string file;
  };
  /// Returns, in order, the lines whose files were never passed to find().
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
