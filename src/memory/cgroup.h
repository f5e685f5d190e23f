#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll {

/// The kernel and SLURM write a number of this size or above to say "no limit".
inline constexpr int64_t kNoLimit = int64_t{1} << 60;

/// Returns the non-negative number at the start of `text`, or nullopt if there is none, as in "max".
std::optional<int64_t> parse_count(const std::string& text);
/// Returns a limit as parse_count() does, or nullopt also for 0 and for kNoLimit or above.
std::optional<int64_t> parse_limit(const std::string& text);

/// A memory control group of this process, or a parent of one. It may limit memory. Its files are read on
/// each call.
struct MemoryGroup {
  bool v2 = false;
  std::string path;    ///< Path such as "/slurm/job_7"; empty for the mount itself.
  std::string folder;  ///< Folder of the group's files.

  /// Returns a name such as "cgroup v1 /slurm/job_7".
  std::string name() const;
  /// Reads a file that contains one number. Returns nullopt if there is none, as in "max".
  std::optional<int64_t> number(const std::string& file) const;
  /// Reads the number after a key in a file of "KEY VALUE" lines. Returns nullopt if there is none.
  std::optional<int64_t> field(const std::string& file, const std::string& key) const;

  /// Returns the hard limit in bytes, or nullopt if there is none. On v1 it includes the limits of parents
  /// that are not visible.
  std::optional<int64_t> limit() const;
  /// Returns the anonymous memory of all processes in the group and its child groups, in bytes, or 0 if
  /// unknown.
  int64_t anonymous() const;
};

/// Returns the memory groups of this process (v1 and v2, as /proc/self/cgroup lists them) with all their
/// parents, nearest first. In a container, the listed path may not exist below the mount; then only its
/// parents, up to the mount itself, have files. `root` is the folder that contains /proc and /sys; tests pass
/// their own tree.
std::vector<MemoryGroup> memory_groups(const std::string& root = "");

/// Reads the number after KEY in a file of "KEY VALUE" or "KEY: VALUE kB" lines, without converting its unit.
/// Returns nullopt if there is none.
std::optional<int64_t> read_field(const std::string& path, const std::string& key);

}  // namespace plimsoll
