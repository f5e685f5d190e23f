#include "job/staging_folder.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/error.h"
#include "base/hash.h"
#include "store/no_data_set.h"

namespace plimsoll {
namespace fs = std::filesystem;

std::string ending_of_copies(const fs::path& data, FileSystem& files) {
  const fs::path manifest = data / "manifest.json";
  if (!files.exists(manifest)) throw no_data_set(data);
  const std::string text = read_text(manifest, files);
  Hasher hasher;
  hasher.add(text.data(), text.size());
  return fmt::format("-{}", hasher.hex64());
}

CopyPlace copy_place(const fs::path& data, const fs::path& root) {
  fs::path named = fs::absolute(data).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();
  std::string name = named.filename().string();
  const std::string ending = ending_of_copies(data);
  if (!name.ends_with(ending)) name += ending;  // `data` may be a copy itself.
  return {root, name};
}

std::string boot_id(const fs::path& folder, FileSystem& files) {
  const int opened = files.open(folder, FileSystem::Open::read);
  if (opened < 0) return {};
  // Only local file systems support locks on folders.
  const bool of_this_machine = files.lock(opened, folder) == 0 || errno == EWOULDBLOCK;
  files.close(opened);
  const fs::path boot = "/proc/sys/kernel/random/boot_id";
  return of_this_machine && fs::exists(boot) ? read_text(boot) : std::string();
}

bool is_copy_reliable(const CopyPlace& place, FileSystem& files) {
  const auto boot = read_text_if_exists(place.boot(), files);
  return !boot || *boot == boot_id(place.root, files);
}

CopyLock::CopyLock(const CopyPlace& place, FileSystem& files) : files_(files), path_(place.lock()) {}

CopyLock::~CopyLock() {
  if (file_) files_.remove_file(path_);
}

bool CopyLock::try_lock() {
  for (;;) {
    File file = File::update(path_, files_);
    if (file.lock() == 0) {
      file_ = std::move(file);
      return true;
    }
    if (errno == EWOULDBLOCK) return false;
    if (errno == ESTALE) continue;  // The process that held the lock deleted the file.
    excludes_ = false;
    return true;
  }
}

}  // namespace plimsoll
