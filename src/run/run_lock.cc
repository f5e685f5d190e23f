#include "run/run_lock.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

std::string this_process() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return fmt::format("process {} on {}", ::getpid(), name.data());
}

// Returns "another process" if the holder has not written its name yet, or has removed the file again.
std::string writer_of(const fs::path& path, FileSystem& files) {
  const std::string text = read_text_if_exists(path, files).value_or("");
  const size_t end = text.find('\n');
  return end == std::string::npos ? "another process" : text.substr(0, end);
}

Failure taken(const fs::path& root, const std::string& holder) {
  return Failure(
      fmt::format("{} is locked by {}, which is training there; wait until it ends, stop it, or give --run "
                  "another folder",
                  root.string(), holder));
}

}  // namespace

RunLock::RunLock(fs::path root, FileSystem& files) : files_(files), root_(std::move(root)) {
  do {
    file_ = File::update(root_ / kName, files_);
  } while (!lock(*file_));
  const std::string text = this_process() + "\n";
  try {
    file_->write(text.data(), text.size());
  } catch (...) {
    files_.remove_file(file_->path());
    throw;
  }
}

RunLock::~RunLock() {
  files_.remove_file(root_ / kName);
}

// Returns false if the file was deleted because another trainer ended; the caller then opens it again.
bool RunLock::lock(File& file) const {
  constexpr int kLooks = 10;  // holder_of_run() in another process holds the lock for a moment.
  for (int looks = 1; file.lock() != 0; ++looks) {
    if (errno == ESTALE) return false;
    if (errno != EWOULDBLOCK) {
      fmt::print(stderr, "plimsoll: {} cannot be locked: {}; make sure that no other process trains there\n",
                 root_.string(), std::strerror(errno));
      return true;
    }
    if (looks == kLooks) throw taken(root_, writer_of(file.path(), files_));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

std::optional<std::string> holder_of_run(const fs::path& root, FileSystem& files) {
  const fs::path path = root / RunLock::kName;
  const int file = files.exists(path) ? files.open(path, FileSystem::Open::update) : -1;
  if (file < 0) return std::nullopt;  // A file that cannot be written to cannot be locked.
  const bool held = files.lock(file, path) != 0 && errno == EWOULDBLOCK;
  files.close(file);
  return held ? std::optional(writer_of(path, files)) : std::nullopt;
}

void require_no_trainer(const fs::path& root, FileSystem& files) {
  if (const auto holder = holder_of_run(root, files)) throw taken(root, *holder);
}

}  // namespace plimsoll
