#include "job/evict.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "job/staging_folder.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// Returns the bytes of all files in a folder.
int64_t bytes_below(const fs::path& folder) {
  int64_t bytes = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->is_regular_file(failed)) bytes += static_cast<int64_t>(at->file_size(failed));
  return bytes;
}

// Returns the name of the copy to which an entry of the root belongs: it ends in a hyphen and 16 hex digits.
// Empty for other entries.
std::string copy_of(std::string entry) {
  for (const std::string_view ending : {".part", ".boot"})
    if (entry.starts_with('.') && entry.ends_with(ending))
      entry = entry.substr(1, entry.size() - 1 - ending.size());
  constexpr size_t kHash = 16;
  if (entry.size() < kHash + 2 || entry[entry.size() - kHash - 1] != '-') return {};
  const auto hash = std::string_view(entry).substr(entry.size() - kHash);
  return hash.find_first_not_of("0123456789abcdef") == std::string_view::npos ? entry : std::string();
}

std::vector<std::string> copies_in(const fs::path& root, FileSystem& files) {
  std::vector<std::string> names;
  for (const std::string& entry : files.names_in(root).value_or(std::vector<std::string>()))
    if (const std::string name = copy_of(entry); !name.empty()) names.push_back(name);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool has_hash_of_name(const fs::path& folder, FileSystem& files) {
  try {
    return folder.filename().string().ends_with(ending_of_copies(folder, files));
  } catch (const Error&) {  // manifest.json is missing or cannot be read.
    return false;
  }
}

// Returns whether a part contains only columns and a manifest.
bool holds_columns_alone(const fs::path& part, FileSystem& files) {
  const auto names = files.names_in(part);
  return names && std::ranges::all_of(*names, [&](const std::string& name) {
           return (name.ends_with(".npy") || name == "manifest.json") && fs::is_regular_file(part / name);
         });
}

void remove(const fs::path& path, FileSystem& files) {
  if (files.remove_tree(path) != 0) throw file_failure("cannot delete", path);
}

}  // namespace

Eviction evict(const fs::path& data, const fs::path& root, FileSystem& files) {
  const std::string copy_name = data.empty() ? std::string() : copy_place(data, root).name;
  Eviction done;
  for (const std::string& name : copies_in(root, files)) {
    if (!copy_name.empty() && name != copy_name) continue;
    const CopyPlace place{root, name};
    CopyLock lock(place, files);
    if (!lock.try_lock()) continue;
    const bool has_boot = fs::is_regular_file(place.boot());
    Evicted copy{.name = name};
    bool deletes = has_boot;
    if (files.exists(place.part())) {
      if (holds_columns_alone(place.part(), files)) {
        copy.bytes += bytes_below(place.part());
        remove(place.part(), files);
        deletes = true;
      } else {
        done.left.push_back(place.part().filename().string());
      }
    }
    if (files.exists(place.whole())) {
      if (has_boot || name == copy_name || has_hash_of_name(place.whole(), files)) {
        copy.bytes += bytes_below(place.whole());
        // If this call is stopped halfway, the next one finds the rest as a part.
        const bool renamed = rename_to_free(place.whole(), place.part(), files) == 0;
        remove(renamed ? place.part() : place.whole(), files);
        deletes = true;
      } else {
        done.left.push_back(name);
      }
    }
    if (has_boot) remove(place.boot(), files);
    if (deletes) done.deleted.push_back(copy);
  }
  return done;
}

}  // namespace plimsoll
