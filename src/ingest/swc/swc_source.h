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

/// Reads whole SWC files, one after the other. Not thread-safe. Errors of all functions: InputError that
/// names the file (missing, damaged, larger than 1 GiB), BudgetExceeded.
class SwcSource {
 public:
  virtual ~SwcSource() = default;

  /// Reads the next file: its name, relative to its source, and its text. Returns false after the last one.
  virtual bool next(std::string& name, Vector<char, Tag::ingest>& text) = 0;

  /// Opens folders, archives and files. Folders are read recursively in the order of paths, each once even if
  /// several links lead to it. The files of archives (.tar, .tar.zst, .tar.gz or .zip) are read in the order
  /// of the archive. A file that is named directly may have any name. In folders and archives, only *.swc
  /// files are read (in folders also *.swc.zst and *.swc.gz), and hidden files are skipped.
  static std::unique_ptr<SwcSource> open(const std::vector<std::filesystem::path>& sources);

  /// Returns the files that open() would read, for provenance. The memory of the list is added to `charge`.
  /// Errors: InputError for a source that does not exist or has no *.swc file.
  static std::vector<std::filesystem::path> files(const std::vector<std::filesystem::path>& sources,
                                                  Charge& charge);
};

}  // namespace plimsoll
