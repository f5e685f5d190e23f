#include "memory/cgroup.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace plimsoll {
namespace {

// A limit above this is the kernel's way to say that there is none.
constexpr int64_t kNone = int64_t{1} << 60;

std::optional<int64_t> parse(const std::string& text) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || value < 0) return std::nullopt;
  return value;
}

// The path and all its parents, the mount last.
std::vector<std::string> with_parents(std::string path) {
  std::vector<std::string> paths;
  // A process outside of what the namespace shows has a path with dots.
  if (path.find("/..") != std::string::npos) path.clear();
  for (; path.size() > 1 && path.front() == '/'; path.resize(path.rfind('/'))) paths.push_back(path);
  paths.emplace_back("");
  return paths;
}

// Beside a v1 hierarchy the second version has a mount of its own.
std::string mount_of(const std::string& root, bool v2) {
  if (!v2) return root + "/sys/fs/cgroup/memory";
  const std::string beside = root + "/sys/fs/cgroup/unified";
  std::error_code ignored;
  return std::filesystem::exists(beside, ignored) ? beside : root + "/sys/fs/cgroup";
}

}  // namespace

std::string MemoryGroup::name() const {
  return (v2 ? "cgroup v2 " : "cgroup v1 ") + (path.empty() ? "/" : path);
}

std::optional<int64_t> MemoryGroup::number(const std::string& file) const {
  std::ifstream stream(folder + "/" + file);
  std::string text;
  if (!(stream >> text)) return std::nullopt;
  return parse(text);
}

std::optional<int64_t> MemoryGroup::field(const std::string& file, const std::string& key) const {
  return read_field(folder + "/" + file, key);
}

std::optional<int64_t> MemoryGroup::limit() const {
  const auto bound = [](std::optional<int64_t> bytes) {
    return bytes && *bytes > 0 && *bytes < kNone ? *bytes : kNone;
  };
  const int64_t bytes = v2 ? bound(number("memory.max"))
                           : std::min(bound(number("memory.limit_in_bytes")),
                                      bound(field("memory.stat", "hierarchical_memory_limit")));
  return bytes < kNone ? std::optional(bytes) : std::nullopt;
}

int64_t MemoryGroup::anonymous() const {
  return field("memory.stat", v2 ? "anon" : "total_rss").value_or(0);
}

std::vector<MemoryGroup> memory_groups(const std::string& root) {
  std::vector<MemoryGroup> groups;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && controllers.find("memory") == std::string::npos) continue;
    for (const std::string& path : with_parents(line.substr(second + 1)))
      groups.push_back({v2, path, mount_of(root, v2) + path});
  }
  return groups;
}

std::optional<int64_t> read_field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::string value;
    if (words >> name >> value && (name == key || name == key + ":")) return parse(value);
  }
  return std::nullopt;
}

}  // namespace plimsoll
