#include "cli/run_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/json.h"
#include "io/file.h"

namespace plimsoll {
namespace fs = std::filesystem;
bool holds_a_run(const RunFolder& folder, FileSystem& files) {
  if (!files.exists(folder.manifest())) return false;
  const Json manifest = parse_json(read_text(folder.manifest(), files));
  return manifest.is_object() && manifest.value("kind", Json()) == "run";
}

namespace {

// What a process leaves that is killed while it writes the first file of a run.
void remove_unfinished_manifest(const fs::path& root) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root, ignored))
    if (entry.path().filename().string().starts_with(".manifest.json.tmp")) fs::remove(entry.path(), ignored);
}

}  // namespace

NewRun::NewRun(const RunFolder& folder, bool force, FileSystem& files)
    : files_(files), root_(folder.root.lexically_normal()) {
  if (!root_.has_filename()) root_ = root_.parent_path();
  remove_unfinished_manifest(root_);
  if (files_.exists(root_) && !files_.is_empty_folder(root_)) {
    if (!holds_a_run(folder, files_))
      throw Failure(root_.string() + " holds something that is no run; name another --run");
    if (!force) throw Failure(root_.string() + " holds a run already; name another --run, or give --force");
    aside_ =
        make_beside(root_, "old", [&](const fs::path& name) { return rename_to_free(root_, name, files_); });
  }
  try {
    made_ = make_folders(root_, files_);
  } catch (...) {
    put_back();
    throw;
  }
}

NewRun::~NewRun() {
  if (!committed_) put_back();
}

void NewRun::put_back() {
  const bool exchanged = !aside_.empty() && files_.rename(aside_, root_, FileSystem::Rename::exchange) == 0;
  files_.remove_tree(exchanged ? aside_ : root_);
  if (aside_.empty()) remove_folders(made_, files_);
  if (!aside_.empty() && !exchanged) rename_to_free(aside_, root_, files_);
}

void NewRun::commit() {
  committed_ = true;
  if (!aside_.empty() && files_.remove_tree(aside_) != 0)
    throw Failure(fmt::format("{} is finished, but the old run, now {}, cannot be deleted: {}",
                              root_.string(), aside_.string(), std::strerror(errno)));
}

}  // namespace plimsoll
