#include "io/new_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "io/file.h"

namespace plimsoll {
namespace fs = std::filesystem;

NewFolder::NewFolder(const fs::path& folder, bool replace)
    : folder_(folder.lexically_normal()), replace_(replace) {
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  temporary_ = folder_.parent_path() / fmt::format(".{}.tmp.{}", folder_.filename().string(), ::getpid());
  std::error_code failed;
  fs::remove_all(temporary_, failed);
  if (!failed) fs::create_directories(temporary_, failed);
  if (failed) throw Failure(fmt::format("cannot make {}: {}", temporary_.string(), failed.message()));
}

NewFolder::~NewFolder() {
  if (published_) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void NewFolder::publish() {
  sync_folder(temporary_);
  const bool exchange = replace_ && fs::exists(folder_);
  const unsigned flags = exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, folder_.c_str(), flags) != 0) {
    if (errno == EEXIST) throw Failure(folder_.string() + " exists already; give --force to replace it");
    throw system_failure("cannot rename the finished folder to", folder_.string());
  }
  published_ = true;
  sync_folder(folder_.parent_path());
  if (!exchange) return;
  std::error_code failed;
  fs::remove_all(temporary_, failed);
  if (failed)
    throw Failure(fmt::format("{} is replaced, but the old one, now {}, cannot be deleted: {}",
                              folder_.string(), temporary_.string(), failed.message()));
}

}  // namespace plimsoll
