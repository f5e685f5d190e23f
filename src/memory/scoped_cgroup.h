#pragma once

#include <cstdint>
#include <string>

#include "memory/cgroup.h"

namespace plimsoll {

/// A memory cgroup for this process alone: a child of its own group, into which it moves. The destructor
/// moves it back and removes the group. What a killed process left behind is removed by the next one that
/// makes a group beside it.
class ScopedCgroup {
 public:
  /// `bytes`: its limit, page cache included. A refusal is no error: name() is empty and refusal() says why.
  /// `root` is where /proc and /sys stand; tests give a tree of their own.
  explicit ScopedCgroup(int64_t bytes, const std::string& root = "");
  ~ScopedCgroup();
  ScopedCgroup(const ScopedCgroup&) = delete;
  ScopedCgroup& operator=(const ScopedCgroup&) = delete;

  /// "cgroup v1 /job/plimsoll_4711"
  std::string name() const { return made_ ? group_.name() : ""; }
  const std::string& refusal() const { return refusal_; }

 private:
  bool write(const std::string& path, const std::string& text);
  bool make(int64_t bytes);
  void leave();

  MemoryGroup parent_;
  MemoryGroup group_;
  bool made_ = false;
  bool enabled_ = false;  // v2: the parent shares memory out because of us
  std::string refusal_;
};

}  // namespace plimsoll
