#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "memory/charge.h"
#include "memory/vector.h"

namespace plimsoll {

/// A sequence of whole SWC files. Not thread-safe. Errors of all functions: InputError that names the file
/// (missing, damaged, above 1 GiB), BudgetExceeded.
class SwcSource {
 public:
  virtual ~SwcSource() = default;

  /// Reads the next file: its name, relative to its source, and its text. Returns false after the last one.
  virtual bool next(std::string& name, Vector<char, Tag::ingest>& text) = 0;

  /// Opens folders, archives and files. Folders are read recursively in the order of paths, each once even if
  /// several links lead to it. Archives, .tar, .tar.zst, .tar.gz or .zip, are read in their order. Files may
  /// have any name. In folders and archives only *.swc files are read, in folders also with .zst or .gz, and
  /// hidden files are skipped.
  static std::unique_ptr<SwcSource> open(const std::vector<std::filesystem::path>& sources);

  /// Returns the files that are read, for provenance; the list is charged to `charge`. Errors: InputError for
  /// a source that does not exist or has no *.swc file.
  static std::vector<std::filesystem::path> files(const std::vector<std::filesystem::path>& sources,
                                                  Charge& charge);
};

}  // namespace plimsoll
