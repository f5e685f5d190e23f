#include "memory/scoped_cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace plimsoll {
namespace {

constexpr const char* kPrefix = "plimsoll_";

bool names_memory(const std::string& file) {
  std::ifstream stream(file);
  for (std::string word; stream >> word;)
    if (word == "memory") return true;
  return false;
}

// Returns whether a child of this group can have a limit, as far as the group's files show.
bool can_limit_children(const MemoryGroup& group) {
  return group.v2 ? names_memory(group.folder + "/cgroup.controllers")
                  : group.number("memory.limit_in_bytes").has_value();
}

// Removes groups of dead processes. A group in use cannot be removed, whatever its name.
void remove_stale(const MemoryGroup& parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent.folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const int pid = std::atoi(name.c_str() + std::strlen(kPrefix));
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) ::rmdir(entry.path().c_str());
  }
}

}  // namespace

ScopedCgroup::ScopedCgroup(int64_t bytes, const std::string& root) {
  for (const MemoryGroup& group : memory_groups(root)) {
    if (!can_limit_children(group)) continue;
    parent_ = group;
    remove_stale(parent_);
    const std::string child = fmt::format("/{}{}", kPrefix, ::getpid());
    group_ = {parent_.v2, parent_.path + child, parent_.folder + child};
    made_ = make(bytes);
    if (!made_) leave();
    return;
  }
  refusal_ = "no memory cgroup is visible here";
}

ScopedCgroup::~ScopedCgroup() {
  if (made_) leave();
}

bool ScopedCgroup::write(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const bool done = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!done && refusal_.empty())
    refusal_ = fmt::format("cannot write {} to {}: {}", text, path, std::strerror(errno));
  if (file >= 0) ::close(file);
  return done;
}

// Writing "0" to cgroup.procs moves the process that writes.
bool ScopedCgroup::make(int64_t bytes) {
  ::rmdir(group_.folder.c_str());  // A dead process with this PID may have left it.
  if (::mkdir(group_.folder.c_str(), 0755) != 0) {
    refusal_ = fmt::format("cannot make {}: {}", group_.folder, std::strerror(errno));
    return false;
  }
  const std::string procs = group_.folder + "/cgroup.procs";
  if (!group_.v2)
    return write(group_.folder + "/memory.limit_in_bytes", std::to_string(bytes)) && write(procs, "0");
  // A v2 group can enable a controller for children only while no process is in it, so this process moves
  // first.
  const std::string control = parent_.folder + "/cgroup.subtree_control";
  if (!write(procs, "0")) return false;
  if (!names_memory(control)) enabled_ = write(control, "+memory");
  return (enabled_ || refusal_.empty()) && write(group_.folder + "/memory.max", std::to_string(bytes));
}

void ScopedCgroup::leave() {
  if (enabled_) write(parent_.folder + "/cgroup.subtree_control", "-memory");
  write(parent_.folder + "/cgroup.procs", "0");
  // A thread that has just ended may still be counted.
  for (int i = 0; i < 100 && ::rmdir(group_.folder.c_str()) != 0 && errno == EBUSY; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace plimsoll
