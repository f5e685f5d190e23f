#include "io/new_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "io/hidden_name.h"
#include "io/replaceable.h"

namespace plimsoll {
namespace fs = std::filesystem;
using Rename = FileSystem::Rename;
using Names = std::vector<std::string>;
namespace {

WillHold files_in(const fs::path& folder, FileSystem& files) {
  return [&](const fs::path& file) { return files.exists(folder / file) && !files.names_in(folder / file); };
}

}  // namespace

NewFolder::NewFolder(const fs::path& folder, bool replace, FileSystem& files)
    : files_(files), folder_(folder.lexically_normal()), replace_(replace) {
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  around_ = make_folders(folder_.parent_path(), files_);
  try {
    remove_abandoned();
    while (!make_temporary()) continue;
  } catch (...) {
    remove_folders(around_, files_);
    throw;
  }
}

NewFolder::~NewFolder() {
  if (!published_) {
    files_.remove_tree(temporary_);
    remove_folders(around_, files_);
  }
  files_.close(lock_);
}

// A folder whose process has ended is no longer locked. This also works for processes in other containers,
// whose process numbers have no meaning here.
void NewFolder::remove_abandoned() {
  const std::string begin = hidden_prefix(folder_, "tmp");
  const fs::path around = folder_.parent_path();
  for (const std::string& name : files_.names_in(around.empty() ? "." : around).value_or(Names())) {
    if (!name.starts_with(begin) || name.find_first_not_of("0123456789.", begin.size()) != std::string::npos)
      continue;
    const fs::path path = around / name;
    const int folder = files_.names_in(path) ? files_.open(path, FileSystem::Open::read) : -1;
    if (folder < 0) continue;
    if (files_.lock(folder, path) == 0) files_.remove_tree(path);
    files_.close(folder);
  }
}

// Returns false if another process removed the folder as abandoned before this one had its lock.
bool NewFolder::make_temporary() {
  temporary_ = make_beside(folder_, "tmp", [&](const fs::path& name) { return files_.make_folder(name); });
  lock_ = files_.open(temporary_, FileSystem::Open::read);
  if (lock_ < 0) {
    if (errno == ENOENT) return false;
    const Failure failure = file_failure("cannot open", temporary_);
    files_.remove_folder(temporary_);
    throw failure;
  }
  if (files_.lock(lock_, temporary_) == 0 || (errno != EWOULDBLOCK && errno != ESTALE)) return true;
  files_.close(lock_);
  return false;
}

fs::path NewFolder::add_folder(const fs::path& name) {
  for (fs::path& made : make_folders(temporary_ / name, files_)) inside_.push_back(std::move(made));
  return temporary_ / name;
}

void NewFolder::publish() {
  for (const fs::path& folder : inside_) sync_folder(folder, files_);
  sync_folder(temporary_, files_);
  const bool exchange = replace_ && files_.exists(folder_);
  if (exchange) require_replaceable(folder_, files_in(temporary_, files_), files_);
  rename_to_name(exchange);
  try {
    sync_folder(folder_.parent_path(), files_);
  } catch (...) {
    // It is unknown whether the old or the new folder would be left after a power failure, so the old state
    // is restored. If even that fails, the temporary name may belong to the old folder, so that folder is
    // kept.
    published_ = exchange ? files_.rename(temporary_, folder_, Rename::exchange) != 0
                          : rename_to_free(folder_, temporary_, files_) != 0;
    throw;
  }
  published_ = true;
  if (exchange && files_.remove_tree(temporary_) != 0)
    throw Failure(fmt::format("{} was replaced, but the old one, now {}, cannot be deleted: {}",
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
  if (!exchange && errno == EEXIST) {
    require_replaceable(folder_, files_in(temporary_, files_), files_);
    throw Failure(folder_.string() + " exists already; give --force to replace it");
  }
  throw file_failure("cannot rename the finished folder to", folder_);
}

}  // namespace plimsoll
