#include "job/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/mutex.h"
#include "base/units.h"
#include "base/workers.h"
#include "io/file.h"
#include "io/scratch_file.h"
#include "job/column_copy.h"
#include "job/staging_folder.h"
#include "store/column_check.h"
#include "store/data_set.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(200);
constexpr const char* kManifest = "manifest.json";

int64_t bytes_of(const DataSetView& set) {
  auto bytes = static_cast<int64_t>(fs::file_size(set.folder() / kManifest));
  for (const auto& [name, column] : set.columns())
    bytes += static_cast<int64_t>(column.file().bytes().size());
  return bytes;
}

// Returns what is wrong with an existing copy; nullopt if it is equal to the data set.
std::optional<std::string> fault_of(const fs::path& copy, bool verify_all) {
  try {
    const DataSetView set(copy);
    if (verify_all) check_columns(set, {.full = true});
    return std::nullopt;
  } catch (const InputError& error) {
    return error.what();
  }
}

void require_room(const StageRequest& request, int64_t needed) {
  const int64_t free =
      request.free_bytes ? request.free_bytes() : static_cast<int64_t>(fs::space(request.root).available);
  if (needed <= free) return;
  throw Failure(fmt::format(
      "{}: the copy of {} needs {} bytes ({}), but {} ({}) are free; delete copies with `plimsoll stage "
      "--evict`, or give another folder with --to",
      request.root.string(), request.data.string(), needed, format_bytes(needed), free, format_bytes(free)));
}

// Copies one data set into a folder.
class Copy {
 public:
  Copy(const StageRequest& request, const DataSetView& set, fs::path part, bool sync)
      : request_(request), set_(set), part_(std::move(part)), sync_(sync), all_(bytes_of(set)) {}

  void require_room_for_rest() const {
    int64_t copied = 0;
    for (const auto& [name, column] : set_.columns()) copied += bytes_copied(column, target_of(column));
    require_room(request_, all_ - copied);
  }

  void run(Staged& staged) {
    make_folders(part_, request_.files);
    copy_columns();
    const std::string manifest = read_text(set_.folder() / kManifest);
    File file = File::create(part_ / kManifest, request_.files);
    file.write(manifest.data(), manifest.size());
    if (sync_) file.sync();
    advance(static_cast<int64_t>(manifest.size()));
    if (sync_) sync_folder(part_, request_.files);
    const MutexLock lock(mutex_);
    staged.copied = all_ - resumed_;
    staged.resumed = resumed_;
  }

 private:
  fs::path target_of(const NpyView& column) const {
    return part_ / fs::path(column.file().path()).filename();
  }
  void advance(int64_t bytes) {
    const MutexLock lock(mutex_);
    request_.progress(done_ += bytes, all_);
  }

  // Copies two columns at a time: one is hashed while the other is written.
  void copy_columns() {
    std::vector<std::string> names;
    for (const auto& [name, column] : set_.columns()) names.push_back(name);
    try {
      Workers(2).run_ordered(static_cast<int64_t>(names.size()), [&](int64_t item, Turn&) {
        const std::string& name = names[static_cast<size_t>(item)];
        copy(name, set_.columns().at(name));
      });
    } catch (const InputError&) {  // The set is damaged.
      request_.files.remove_tree(part_);
      throw;
    }
  }

  void copy(const std::string& name, const NpyView& column) {
    const std::string expected = set_.manifest()["columns"][name].value("xxh3", "");
    const int64_t before = bytes_copied(column, target_of(column));
    const auto advanced = [&](int64_t bytes) { advance(bytes); };
    std::string found = copy_column(column, target_of(column), before, sync_, advanced, request_.files);
    if (found != expected && before > 0) {  // The existing bytes may have been damaged by a power failure.
      advance(-static_cast<int64_t>(column.file().bytes().size()));
      found = copy_column(column, target_of(column), 0, sync_, advanced, request_.files);
    } else {
      const MutexLock lock(mutex_);
      resumed_ += before;
    }
    if (found == expected) return;
    throw InputError(
        fmt::format("{}: column '{}' has the checksum {}, expected {} from manifest.json: its file was "
                    "changed or damaged since the set was made; make the set again (--force)",
                    set_.folder().string(), name, found, expected));
  }

  const StageRequest& request_;
  const DataSetView& set_;
  fs::path part_;
  bool sync_;
  int64_t all_;
  Mutex mutex_;
  int64_t done_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  int64_t resumed_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
};

// Written before any part of the copy. A partly written text matches no boot ID.
void write_boot(const CopyPlace& place, const std::string& boot, FileSystem& files) {
  File file = File::create(place.boot(), files);
  file.write(boot.data(), boot.size());
  file.sync();
  sync_folder(place.root, files);
}

// Copies the data set, and then renames the copy to its final name.
void copy_to(const CopyPlace& place, const StageRequest& request, const DataSetView& set, bool alone,
             Staged& staged) {
  FileSystem& files = request.files;
  const fs::path part = alone ? place.part() : make_beside(place.whole(), "part", [&](const fs::path& name) {
    return files.make_folder(name);
  });
  try {
    // On a local disk, a copy that is not synced is valid until the machine stops.
    const std::string boot = boot_id(place.root, files);
    Copy copy(request, set, part, boot.empty());
    copy.require_room_for_rest();
    if (!boot.empty()) write_boot(place, boot, files);
    copy.run(staged);
    if (rename_to_free(part, place.whole(), files) != 0) {
      // Without locks, another process may have finished a copy first.
      if (errno != EEXIST || alone) throw file_failure("cannot rename the finished copy to", place.whole());
      files.remove_tree(part);
    }
    if (boot.empty()) sync_folder(place.root, files);
  } catch (const Failure&) {  // Frees a disk that became full.
    files.remove_tree(part);
    files.remove_file(place.boot());
    throw;
  } catch (...) {
    files.remove_file(place.boot());
    if (!alone) files.remove_tree(part);  // No later call would find it.
    throw;
  }
}

}  // namespace

std::optional<fs::path> staging_root() {
  const char* const root = std::getenv("PLIMSOLL_CACHE");
  return root != nullptr && *root != 0 ? std::optional<fs::path>(root) : std::nullopt;
}

fs::path scratch_root() {
  if (const auto root = staging_root()) return *root;
  for (const char* const variable : {"SLURM_TMPDIR", "TMPDIR"})
    if (const char* const folder = std::getenv(variable); folder != nullptr && *folder != 0)
      return fs::path(folder) / "plimsoll";
  return "/tmp/plimsoll";
}

bool lies_in_memory(fs::path folder) {
  folder = fs::absolute(folder);
  while (!fs::exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
  return ScratchFile::is_in_memory(folder);
}

std::optional<fs::path> staged_copy(const fs::path& data, const fs::path& root, FileSystem& files) {
  const CopyPlace place = copy_place(data, root);
  if (!files.exists(place.whole()) || !is_copy_reliable(place, files)) return std::nullopt;
  return fault_of(place.whole(), false) ? std::nullopt : std::optional(place.whole());
}

fs::path nearest_copy(const fs::path& data) {
  const auto root = staging_root();
  const auto copy = root ? staged_copy(data, *root) : std::nullopt;
  if (!copy || *copy == data) return data;
  fmt::print(stderr, "plimsoll: reading the staged copy {} of {}\n", copy->string(), data.string());
  return *copy;
}

Staged stage(const StageRequest& request) {
  const DataSetView set(request.data);
  const CopyPlace place = copy_place(request.data, request.root);
  FileSystem& files = request.files;
  Staged staged{.folder = place.whole(), .bytes = bytes_of(set)};
  make_folders(request.root, files);
  CopyLock lock(place, files);
  bool reported = false;
  while (!lock.try_lock()) {
    if (!reported) request.say("another process is copying " + request.data.string() + "; waiting for it");
    reported = true;
    request.progress(0, staged.bytes);
    std::this_thread::sleep_for(kLookAgain);
  }
  if (!lock.excludes_others())
    request.say(
        fmt::format("{} does not support locks ({}): other jobs may copy the same data set at the same time",
                    request.root.string(), std::strerror(errno)));
  if (files.exists(place.whole())) {
    const bool reliable = is_copy_reliable(place, files);
    const auto fault = fault_of(place.whole(), request.verify_all || !reliable);
    if (!fault) {
      if (!reliable) files.remove_file(place.boot());  // All bytes were read back from the disk.
      return staged;
    }
    request.say(*fault + "; copying it again");
    if (files.remove_tree(place.whole()) != 0) throw file_failure("cannot delete", place.whole());
  }
  copy_to(place, request, set, lock.excludes_others(), staged);
  return staged;
}

}  // namespace plimsoll
