#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll {

/// The kernel and SLURM write a number of this size or above where there is no limit.
inline constexpr int64_t kNoLimit = int64_t{1} << 60;

/// The number that `text` starts with, 0 or more; none where there is none, as in "max".
std::optional<int64_t> parse_count(const std::string& text);
/// The same for a limit: none also where it is 0, or kNoLimit or above.
std::optional<int64_t> parse_limit(const std::string& text);

/// A control group of this process, or a parent of one, that may count memory. Its files are read when asked.
struct MemoryGroup {
  bool v2 = false;
  std::string path;    ///< "/slurm/job_7"; empty: the mount itself
  std::string folder;  ///< where its files stand

  /// "cgroup v1 /slurm/job_7"
  std::string name() const;
  /// A file that is one number; none where there is none, as in "max".
  std::optional<int64_t> number(const std::string& file) const;
  /// The number after a key in a file of "KEY VALUE" lines.
  std::optional<int64_t> field(const std::string& file, const std::string& key) const;

  /// The hard limit in bytes, on v1 with those of parents out of sight; none where there is none.
  std::optional<int64_t> limit() const;
  /// What its processes hold of anonymous memory, in bytes, those of its children included; 0 where unknown.
  int64_t anonymous() const;
};

/// The memory groups of this process with all their parents, nearest first, v1 and v2 as /proc/self/cgroup
/// lists them. A container may show a path that its mount does not have: then only parents down to the mount
/// have files. `root` is where /proc and /sys stand; tests give a tree of their own.
std::vector<MemoryGroup> memory_groups(const std::string& root = "");

/// The number after KEY in a file of "KEY VALUE" or "KEY: VALUE kB" lines, as it stands there.
std::optional<int64_t> read_field(const std::string& path, const std::string& key);

}  // namespace plimsoll
