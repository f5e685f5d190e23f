#include "io/new_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace plimsoll {
namespace fs = std::filesystem;
using Rename = FileSystem::Rename;

NewFolder::NewFolder(const fs::path& folder, bool replace, FileSystem& files)
    : files_(files), folder_(folder.lexically_normal()), replace_(replace) {
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  around_ = make_folders(folder_.parent_path(), files_);
  try {
    temporary_ = make_beside(folder_, "tmp", [&](const fs::path& name) { return files_.make_folder(name); });
  } catch (...) {
    remove_folders(around_, files_);
    throw;
  }
}

NewFolder::~NewFolder() {
  if (published_) return;
  files_.remove_tree(temporary_);
  remove_folders(around_, files_);
}

fs::path NewFolder::add_folder(const fs::path& name) {
  for (fs::path& made : make_folders(temporary_ / name, files_)) inside_.push_back(std::move(made));
  return temporary_ / name;
}

void NewFolder::publish() {
  for (const fs::path& folder : inside_) sync_folder(folder, files_);
  sync_folder(temporary_, files_);
  const bool exchange = replace_ && files_.exists(folder_);
  rename_to_name(exchange);
  try {
    sync_folder(folder_.parent_path(), files_);
  } catch (...) {
    // Nobody knows which of the two a power failure would leave: back to the one that was there. If even that
    // fails, what now has the temporary name may be the old folder, and stays.
    published_ = exchange ? files_.rename(temporary_, folder_, Rename::exchange) != 0
                          : rename_to_free(folder_, temporary_, files_) != 0;
    throw;
  }
  published_ = true;
  if (exchange && files_.remove_tree(temporary_) != 0)
    throw Failure(fmt::format("{} is replaced, but the old one, now {}, cannot be deleted: {}",
                              folder_.string(), temporary_.string(), std::strerror(errno)));
}

void NewFolder::rename_to_name(bool exchange) {
  const int result = exchange ? files_.rename(temporary_, folder_, Rename::exchange)
                              : rename_to_free(temporary_, folder_, files_);
  if (result == 0) return;
  if (exchange && (errno == EINVAL || errno == ENOSYS))
    throw Failure(folder_.string() +
                  " cannot be replaced: this file system cannot exchange two folders in one step; delete it "
                  "and run again");
  if (!exchange && errno == EEXIST)
    throw Failure(folder_.string() + " exists already; give --force to replace it");
  throw file_failure("cannot rename the finished folder to", folder_);
}

}  // namespace plimsoll
