#include "memory/cgroup.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace plimsoll {
namespace {

std::optional<int64_t> as_limit(std::optional<int64_t> value) {
  return value && *value > 0 && *value < kNoLimit ? value : std::nullopt;
}

// Returns the path and all its parents, the mount last.
std::vector<std::string> with_parents(std::string path) {
  std::vector<std::string> paths;
  // The path of a process outside the namespace's root contains dots.
  if (path.find("/..") != std::string::npos) path.clear();
  for (; path.size() > 1 && path.front() == '/'; path.resize(path.rfind('/'))) paths.push_back(path);
  paths.emplace_back("");
  return paths;
}

// In a hybrid hierarchy, v2 has a separate mount next to v1.
std::string mount_of(const std::string& root, bool v2) {
  if (!v2) return root + "/sys/fs/cgroup/memory";
  const std::string unified = root + "/sys/fs/cgroup/unified";
  std::error_code ignored;
  return std::filesystem::exists(unified, ignored) ? unified : root + "/sys/fs/cgroup";
}

}  // namespace

std::optional<int64_t> parse_count(const std::string& text) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || value < 0) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_limit(const std::string& text) {
  return as_limit(parse_count(text));
}

std::string MemoryGroup::name() const {
  return (v2 ? "cgroup v2 " : "cgroup v1 ") + (path.empty() ? "/" : path);
}

std::optional<int64_t> MemoryGroup::number(const std::string& file) const {
  std::ifstream stream(folder + "/" + file);
  std::string text;
  if (!(stream >> text)) return std::nullopt;
  return parse_count(text);
}

std::optional<int64_t> MemoryGroup::field(const std::string& file, const std::string& key) const {
  return read_field(folder + "/" + file, key);
}

std::optional<int64_t> MemoryGroup::limit() const {
  if (v2) return as_limit(number("memory.max"));
  const auto own = as_limit(number("memory.limit_in_bytes"));
  const auto inherited = as_limit(field("memory.stat", "hierarchical_memory_limit"));
  return own && inherited ? std::min(own, inherited) : own ? own : inherited;
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
    if (words >> name >> value && (name == key || name == key + ":")) return parse_count(value);
  }
  return std::nullopt;
}

}  // namespace plimsoll
