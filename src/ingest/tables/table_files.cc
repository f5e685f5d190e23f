#include "ingest/tables/table_files.h"

#include <glob.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "io/file_ending.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

bool is_table_file(const fs::path& path) {
  const std::string ending = lower_ending(path);
  return ending == ".parquet" || ending == ".arrow" || ending == ".feather" || is_csv(path);
}

// Adds the files of a folder and of its partitions.
void add_files(const fs::path& folder, std::vector<fs::path>& files) {
  std::error_code unreadable;
  const fs::directory_iterator entries(folder, unreadable);
  if (unreadable)
    throw InputError(folder.string() + ": " + unreadable.message() + "; make it a folder that can be read");
  for (const fs::directory_entry& entry : entries) {
    const bool is_partition = entry.path().filename().string().find('=') != std::string::npos;
    if (entry.is_regular_file(unreadable) && is_table_file(entry.path())) files.push_back(entry.path());
    if (entry.is_directory(unreadable) && is_partition) add_files(entry.path(), files);
  }
}

// Returns the folder above the first part of a pattern that stands for several names.
fs::path root_of(const fs::path& pattern) {
  fs::path root;
  for (const fs::path& part : pattern) {
    if (part.string().find_first_of("*?[") != std::string::npos) break;
    root /= part;
  }
  return root;
}

}  // namespace

bool is_csv(const fs::path& path) {
  const std::string ending = lower_ending(path);
  return ending == ".csv" || (ending == ".gz" && lower_ending(path.stem()) == ".csv");
}

TableFiles find_table_files(const std::string& pattern) {
  TableFiles found{.root = fs::path(pattern).parent_path(), .files = {}};
  std::error_code unreadable;  // A name that the system does not accept is not a file either.
  if (fs::is_directory(pattern, unreadable)) {
    found.root = pattern;
    add_files(pattern, found.files);
  } else if (fs::exists(pattern, unreadable)) {
    found.files.emplace_back(pattern);
  } else {
    found.root = root_of(pattern);
    glob_t matches{};
    if (::glob(pattern.c_str(), 0, nullptr, &matches) == 0)
      for (size_t i = 0; i < matches.gl_pathc; ++i) found.files.emplace_back(matches.gl_pathv[i]);
    ::globfree(&matches);
  }
  if (found.files.empty())
    throw InputError(
        pattern +
        ": no such file, and no Parquet, Arrow or CSV files there; name a file, a pattern or a folder");
  std::ranges::sort(found.files);
  return found;
}

}  // namespace plimsoll
