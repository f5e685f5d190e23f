#include "run/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "base/json.h"
#include "io/file.h"

namespace plimsoll {
namespace fs = std::filesystem;
using Rename = FileSystem::Rename;
namespace {

std::vector<fs::path> in(const fs::path& folder, const char* begin, FileSystem& files) {
  std::vector<fs::path> paths;
  for (const std::string& name : files.names_in(folder).value_or(std::vector<std::string>()))
    if (name.starts_with(begin)) paths.push_back(folder / name);
  return paths;
}

constexpr const char* kUnfinishedManifest = ".manifest.json.tmp";

// Returns whether the folder is empty, apart from files of a process that was killed before it wrote the
// first file of a run.
bool holds_nothing_yet(const fs::path& root, FileSystem& files) {
  const auto names = files.names_in(root);
  return names && std::ranges::all_of(*names, [](const std::string& name) {
           return name == RunLock::kName || name.starts_with(kUnfinishedManifest);
         });
}

}  // namespace

std::vector<fs::path> checkpoints_of(const RunFolder& folder, FileSystem& files) {
  std::vector<fs::path> all;
  for (const fs::path& seed : in(folder.root, "seed-", files))
    for (const fs::path& stage : in(seed, "", files))
      std::ranges::copy(in(stage / "checkpoints", "step-", files), std::back_inserter(all));
  return all;
}

bool has_results(const RunFolder& folder, FileSystem& files) {
  return !checkpoints_of(folder, files).empty() ||
         std::ranges::any_of(in(folder.root, "seed-", files),
                             [&](const fs::path& seed) { return !in(seed / "columns", "", files).empty(); });
}

bool holds_a_run(const RunFolder& folder, FileSystem& files) {
  if (!checkpoints_of(folder, files).empty()) return true;
  const auto text = read_text_if_exists(folder.manifest(), files);
  if (!text) return false;
  const Json manifest = parse_json(*text);
  return manifest.is_object() && manifest.value("kind", Json()) == "run";
}

NewRun::NewRun(const RunFolder& folder, bool force, FileSystem& files)
    : files_(files), root_(folder.root.lexically_normal()) {
  if (!root_.has_filename()) root_ = root_.parent_path();
  const bool was_run = holds_a_run(folder, files_);
  if (!was_run && files_.exists(root_) && !holds_nothing_yet(root_, files_))
    throw Failure(root_.string() + " exists, but does not hold a run; give --run another folder");
  if (was_run && !force) refuse_existing_run();
  made_ = make_folders(root_, files_);
  bool is_run = false;
  try {
    lock_ = std::make_unique<RunLock>(root_, files_);
    is_run = holds_a_run(folder, files_);
  } catch (...) {
    lock_.reset();
    remove_folders(made_, files_);
    throw;
  }
  for (const fs::path& left : in(root_, kUnfinishedManifest, files_)) files_.remove_file(left);
  if (!is_run) return;
  if (!force) {  // Another process has created a run since the first check.
    lock_.reset();
    refuse_existing_run();
  }
  lock_of_old_.swap(lock_);
  if (!exchange_for_new()) rename_and_make_new();
}

NewRun::~NewRun() {
  if (!committed_) put_back();
}

void NewRun::refuse_existing_run() const {
  require_no_trainer(root_, files_);
  throw Failure(root_.string() +
                " holds a run already; continue it with --resume, give --run another folder, or replace it "
                "with --force");
}

// Exchanges the names of the old and the new folder in one step, so that the name is never free for another
// trainer. Returns false if the file system cannot exchange names.
bool NewRun::exchange_for_new() {
  const fs::path made =
      make_beside(root_, "old", [&](const fs::path& name) { return files_.make_folder(name); });
  try {
    lock_ = std::make_unique<RunLock>(made, files_);
    if (files_.rename(made, root_, Rename::exchange) == 0) {
      aside_ = made;
      lock_of_old_->renamed(aside_);
      lock_->renamed(root_);
      sync_folder(root_.parent_path(), files_);
      return true;
    }
    if (errno != EINVAL && errno != ENOSYS) throw file_failure("cannot rename", root_);
  } catch (...) {
    if (aside_.empty())
      remove_new(made);
    else
      put_back();
    throw;
  }
  remove_new(made);
  return false;
}

void NewRun::rename_and_make_new() {
  aside_ =
      make_beside(root_, "old", [&](const fs::path& name) { return rename_to_free(root_, name, files_); });
  lock_of_old_->renamed(aside_);
  try {
    make_folders(root_, files_);
    lock_ = std::make_unique<RunLock>(root_, files_);
  } catch (const Failure& error) {
    files_.remove_folder(root_);
    if (rename_to_free(aside_, root_, files_) == 0) {
      lock_of_old_->renamed(root_);
      throw;
    }
    throw Failure(fmt::format("{}; the old run is now {}", error.what(), aside_.string()));
  }
}

void NewRun::put_back() {
  fs::path away = aside_;
  bool old_is_back = !aside_.empty() && files_.rename(aside_, root_, Rename::exchange) == 0;
  if (!old_is_back) {
    // Renames the folder first, so that another trainer can use its name while it is deleted.
    try {
      away = make_beside(root_, "tmp",
                         [&](const fs::path& name) { return rename_to_free(root_, name, files_); });
    } catch (const Failure&) {
      away = root_;
    }
    old_is_back = !aside_.empty() && rename_to_free(aside_, root_, files_) == 0;
  }
  if (old_is_back) lock_of_old_->renamed(root_);
  lock_->renamed(away);
  remove_new(away);
  remove_folders(made_, files_);
}

void NewRun::remove_new(const fs::path& folder) {
  lock_.reset();  // NFS does not delete a folder that has an open file.
  files_.remove_tree(folder);
}

void NewRun::commit() {
  committed_ = true;
  lock_of_old_.reset();
  if (!aside_.empty() && files_.remove_tree(aside_) != 0)
    throw Failure(fmt::format("{} is finished, but the old run, now {}, cannot be deleted: {}",
                              root_.string(), aside_.string(), std::strerror(errno)));
}

}  // namespace plimsoll
