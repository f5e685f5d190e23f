#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "memory/charge.h"

namespace plimsoll {

/// A capture file to ingest, and the information in its path.
struct CaptureFile {
  std::filesystem::path path;
  std::string name;    ///< File name without its endings.
  std::string split;   ///< Folder of the file, relative to the named source.
  std::string source;  ///< Path of the file, relative to the named source.
  std::optional<std::string> attack;
};

/// Finds the captures (*.csv, *.log, *.blf, *.mf4 and so on, each possibly with .zst or .gz) among the files
/// and folders given, sorted by split and name. `split` is the split of captures that are not in a folder
/// below a source (if empty, the source's name). If `split` is a training split and no folder is one, all
/// captures get this split, and their names start with their folders. `charge` is increased by the memory of
/// the list. Errors: InputError if a source does not exist, if no capture is found, or if two captures have
/// the same split and name; BudgetExceeded.
std::vector<CaptureFile> find_captures(const std::vector<std::filesystem::path>& sources, Charge& charge,
                                       const std::string& split = {});

/// Whether the name of a file is that of a capture.
bool is_capture(const std::filesystem::path& path);

/// The attack in a recording's name: "DoS-kia" gives "DoS", "rpm-accessory-2" gives "rpm-accessory". None for
/// names without a dash and names that begin with attack-free, accessory, benign, clean or normal.
std::optional<std::string> attack_from_name(const std::string& name);

}  // namespace plimsoll
