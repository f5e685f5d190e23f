#pragma once

#include <cstdint>
#include <string>

#include "memory/cgroup.h"

namespace plimsoll {

/// A memory cgroup for this process alone. It is a child of the nearest group of the process that can limit
/// its children, and the process moves into it. The destructor moves the process back to that parent and
/// removes the group. A group left behind by a killed process is removed by the next process that makes one
/// under the same parent.
class ScopedCgroup {
 public:
  /// `bytes` is the limit of the group, page cache included. If the kernel refuses the group, this is not an
  /// error: name() is empty and refusal() has the reason. `root` is the folder that contains /proc and /sys;
  /// tests pass their own tree.
  explicit ScopedCgroup(int64_t bytes, const std::string& root = "");
  ~ScopedCgroup();
  ScopedCgroup(const ScopedCgroup&) = delete;
  ScopedCgroup& operator=(const ScopedCgroup&) = delete;

  /// Returns a name such as "cgroup v1 /job/plimsoll_4711", or "" if the group was refused.
  std::string name() const { return made_ ? group_.name() : ""; }
  const std::string& refusal() const { return refusal_; }

 private:
  bool write(const std::string& path, const std::string& text);
  bool make(int64_t bytes);
  void leave();

  MemoryGroup parent_;
  MemoryGroup group_;
  bool made_ = false;
  bool enabled_ = false;  // v2: this object enabled the memory controller in the parent.
  std::string refusal_;
};

}  // namespace plimsoll
