#include "cli/run_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "io/file.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

bool holds_a_run(const RunFolder& folder) {
  if (!fs::exists(folder.manifest())) return false;
  const Json manifest = Json::parse(read_text(folder.manifest()), nullptr, false);
  return manifest.is_object() && manifest.value("kind", "") == "run";
}

}  // namespace

NewRun::NewRun(const RunFolder& folder, bool force) : root_(folder.root.lexically_normal()) {
  if (!root_.has_filename()) root_ = root_.parent_path();
  if (fs::exists(root_) && !fs::is_empty(root_)) {
    if (!holds_a_run(folder))
      throw Failure(root_.string() + " holds something that is no run; name another --run");
    if (!force) throw Failure(root_.string() + " holds a run already; name another --run, or give --force");
    aside_ = root_.parent_path() / fmt::format(".{}.old.{}", root_.filename().string(), ::getpid());
    fs::rename(root_, aside_);
  }
  fs::create_directories(root_);
}

NewRun::~NewRun() {
  if (committed_) return;
  std::error_code ignored;
  fs::remove_all(root_, ignored);
  if (!aside_.empty()) fs::rename(aside_, root_, ignored);
}

void NewRun::commit() {
  committed_ = true;
  if (!aside_.empty()) fs::remove_all(aside_);
}

}  // namespace plimsoll
