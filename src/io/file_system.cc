#include "io/file_system.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/hidden_name.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

const char* remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; make room there (files named .NAME.tmp.PID that killed runs left can be deleted), or choose "
             "another place";
    case EFBIG:
      return "; raise the limit on the size of a file (ulimit -f)";
    case EROFS:
      return "; choose a writable place";
    case EACCES:
    case EPERM:
      return "; change its permissions, or choose another place";
    case EBUSY:
      return "; it is in use, for example as a mount point; choose another name";
    case EISDIR:
      return "; a folder has this name; rename it, or choose another name";
    default:
      return "";
  }
}

}  // namespace

Failure file_failure(const std::string& what, const fs::path& path) {
  const int error = errno;
  return Failure(fmt::format("{} {}: {}{}", what, path.string(), std::strerror(error), remedy(error)));
}

void sync_folder(const fs::path& folder, FileSystem& files) {
  const fs::path name = folder.empty() ? fs::path(".") : folder;
  // EINVAL: this file system cannot sync folders and makes names durable at a time of its choice.
  if (files.sync_folder(name) != 0 && errno != EINVAL) throw file_failure("cannot sync folder", name);
}

std::vector<fs::path> make_folders(const fs::path& folder, FileSystem& files) {
  std::vector<fs::path> missing;
  for (fs::path at = folder; !at.empty() && !files.exists(at); at = at.parent_path()) missing.push_back(at);
  std::reverse(missing.begin(), missing.end());
  std::vector<fs::path> made;
  try {
    for (const fs::path& name : missing) {
      if (files.make_folder(name) == 0) {
        made.push_back(name);
        sync_folder(folder_of(name), files);
      } else if (errno != EEXIST) {  // Another process may have been faster.
        throw file_failure("cannot make folder", name);
      }
    }
  } catch (...) {
    remove_folders(made, files);
    throw;
  }
  return made;
}

void remove_folders(const std::vector<fs::path>& made, FileSystem& files) {
  for (auto name = made.rbegin(); name != made.rend(); ++name) files.remove_folder(*name);
}

int rename_to_free(const fs::path& from, const fs::path& to, FileSystem& files) {
  if (files.rename(from, to, FileSystem::Rename::no_replace) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (!files.exists(to)) return files.rename(from, to, FileSystem::Rename::replace);
  errno = EEXIST;
  return -1;
}

fs::path make_beside(const fs::path& path, const char* tag, const std::function<int(const fs::path&)>& make) {
  const std::string stem = hidden_prefix(path, tag) + std::to_string(::getpid());
  for (int number = 0;; ++number) {
    fs::path name = path.parent_path() / (number == 0 ? stem : fmt::format("{}.{}", stem, number));
    if (make(name) >= 0) return name;
    if (errno != EEXIST) throw file_failure("cannot make", name);
  }
}

}  // namespace plimsoll
