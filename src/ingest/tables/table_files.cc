#include "ingest/tables/table_files.h"

#include <fnmatch.h>
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

bool is_pattern(const std::string& text) {
  return text.find_first_of("*?[") != std::string::npos;
}

// Returns the folder above the first part of a pattern that stands for several names.
fs::path root_of(const fs::path& pattern) {
  fs::path root;
  for (const fs::path& part : pattern) {
    if (is_pattern(part.string())) break;
    root /= part;
  }
  return root;
}

// Returns whether an object is directly in a folder, or in partitions of it.
bool is_in_partitions(const fs::path& folder, const fs::path& object) {
  const fs::path below = object.lexically_relative(folder).parent_path();
  return std::ranges::all_of(
      below, [](const fs::path& part) { return part.string().find('=') != std::string::npos; });
}

void add_version(TableFiles& found, const fs::path& object) {
  const std::optional<ObjectVersion> version = find_object({found.store, object});
  if (!version) throw InputError(Location{found.store, object}.text() + ": vanished; repeat the command");
  found.files.push_back(object);
  found.versions.push_back(*version);
}

TableFiles find_objects(const Location& location) {
  const std::string pattern = location.path.string();
  // A key may hold characters of a pattern.
  if (std::optional<TableFiles> single = find_table_file(location)) return *std::move(single);
  TableFiles found{.store = location.store,
                   .root = is_pattern(pattern) ? root_of(location.path) : location.path};
  for (const fs::path& object : list_objects(found.root_location()))
    if (is_pattern(pattern) ? ::fnmatch(pattern.c_str(), object.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0
                            : is_table_file(object) && is_in_partitions(found.root, object))
      add_version(found, object);
  if (found.files.empty())
    throw InputError(location.text() +
                     ": no such object, and no Parquet, Arrow or CSV objects there; name an object, a "
                     "pattern or a folder");
  return found;
}

}  // namespace

bool is_csv(const fs::path& path) {
  const std::string ending = lower_ending(path);
  return ending == ".csv" || (ending == ".gz" && lower_ending(path.stem()) == ".csv");
}

std::optional<TableFiles> find_table_file(const Location& file) {
  TableFiles found{.store = file.store, .root = file.path.parent_path(), .files = {file.path}};
  if (!file.is_object()) return is_file(file) ? std::optional(found) : std::nullopt;
  const std::optional<ObjectVersion> version = find_object(file);
  if (!version) return std::nullopt;
  found.versions = {*version};
  return found;
}

TableFiles find_table_files(const std::string& pattern) {
  if (const Location location = parse_location(pattern); location.is_object()) return find_objects(location);
  TableFiles found{.root = fs::path(pattern).parent_path()};
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
