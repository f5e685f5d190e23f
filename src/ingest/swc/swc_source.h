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
/// names the file (missing, damaged, larger than 1 GiB), Failure, BudgetExceeded.
class SwcSource {
 public:
  virtual ~SwcSource() = default;

  /// Reads the next file: its name, relative to its source, and its text. Returns false after the last one.
  virtual bool next(std::string& name, Vector<char, Tag::ingest>& text) = 0;

  /// Opens folders, archives and files. Folders are read recursively in the order of paths, each once even if
  /// several links lead to it. The files of archives (.tar, .tar.zst, .tar.gz or .zip) are read in the
  /// order of the archive. Any file name is accepted for a file that is named directly. In folders and
  /// archives, only *.swc and *.SWC files are read (in folders also with the ending .zst or .gz), and hidden
  /// files are skipped.
  static std::unique_ptr<SwcSource> open(const std::vector<std::filesystem::path>& sources);

  /// Returns the files that open() would read, for provenance; an archive is one file. The memory of the list
  /// is added to `charge`. Errors: InputError for a source that does not exist or has no *.swc file.
  static std::vector<std::filesystem::path> files(const std::vector<std::filesystem::path>& sources,
                                                  Charge& charge);
};

}  // namespace plimsoll
