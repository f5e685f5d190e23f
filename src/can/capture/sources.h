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
  std::string name;    ///< File name without its endings, perhaps after its folders (find_captures()).
  std::string split;   ///< Folder of the file relative to the named source, or as find_captures() describes.
  std::string source;  ///< Path of the file, relative to the named source.
  std::optional<std::string> attack;  ///< Result of attack_from_name() for the file name.
};

/// Finds the captures (*.csv, *.log, *.blf, *.mf4 and so on, each possibly with .zst or .gz) among the files
/// and folders given, sorted by split and name. `split` is the split of captures that are not in a folder
/// below a source (if empty, the source's name). If `split` is a training split and no folder is one, all
/// captures get this split, and their names start with their folders. `charge` is increased by the memory of
/// the list. Errors: InputError if a source does not exist, if a named file has no ending of a capture, if no
/// capture is found, or if two captures have the same split and name; BudgetExceeded.
std::vector<CaptureFile> find_captures(const std::vector<std::filesystem::path>& sources, Charge& charge,
                                       const std::string& split = {});

/// Whether the name of a file has an ending of a capture. The file is not read.
bool is_capture(const std::filesystem::path& path);

/// The attack in a recording's name: "DoS-kia" gives "DoS", "rpm-accessory-2" gives "rpm-accessory". None for
/// names without a dash after the first character and names that begin with attack-free, attack_free,
/// accessory, benign, clean or normal in any case.
std::optional<std::string> attack_from_name(const std::string& name);

}  // namespace plimsoll
