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

/// SWC files one after the other, whole. Not thread-safe. Errors of all: InputError that names the file (not
/// there, damaged, above 1 GiB), BudgetExceeded.
class SwcSource {
 public:
  virtual ~SwcSource() = default;

  /// The next file's name, below what was named, and text; false where there is none.
  virtual bool next(std::string& name, Vector<char, Tag::ingest>& text) = 0;

  /// Folders, with all below them in the order of paths, each folder once if links lead to it; archives,
  /// .tar, .tar.zst, .tar.gz or .zip, in theirs; and files of any name. Of folders and archives files *.swc
  /// are taken, perhaps .zst or .gz in folders; hidden ones are not.
  static std::unique_ptr<SwcSource> open(const std::vector<std::filesystem::path>& sources);

  /// The files that are read, for provenance; `charge` gets what the list takes. Errors: InputError for a
  /// source that is not there or has no *.swc file.
  static std::vector<std::filesystem::path> files(const std::vector<std::filesystem::path>& sources,
                                                  Charge& charge);
};

}  // namespace plimsoll
