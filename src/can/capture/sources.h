#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "memory/charge.h"

namespace plimsoll {

/// A capture file to ingest and what its place and name tell about it.
struct CaptureFile {
  std::filesystem::path path;
  std::string name;    ///< file name without its endings
  std::string split;   ///< its folder, below the source that was named
  std::string source;  ///< its path below the source that was named
  std::optional<std::string> attack;
};

/// The captures (*.csv, *.log, *.blf, *.mf4 and so on, each perhaps .zst or .gz) under the files and folders
/// given, ordered by split and name. `split` is the split of those that lie in no folder below a source
/// (empty: the source's name), and, if it is for training and no folder is, of all, whose names then begin
/// with their folders. Errors: InputError when a source is absent, when none is found, or when two have one
/// split and name; BudgetExceeded: `charge` gets what the list takes.
std::vector<CaptureFile> find_captures(const std::vector<std::filesystem::path>& sources, Charge& charge,
                                       const std::string& split = {});

/// Whether a file is a capture by its name.
bool is_capture(const std::filesystem::path& path);

/// The attack a recording's name tells of: "DoS-kia" gives "DoS", "rpm-accessory-2" gives "rpm-accessory".
/// Names without a dash and names that begin with attack-free, accessory, benign, clean or normal give none.
std::optional<std::string> attack_from_name(const std::string& name);

}  // namespace plimsoll
