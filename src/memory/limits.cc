#include "memory/limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/units.h"
#include "memory/meter.h"

namespace plimsoll {
namespace {

// A limit above this is the kernel's way to say that there is none.
constexpr int64_t kNone = int64_t{1} << 60;

std::optional<int64_t> parse(const std::string& text) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || value <= 0 || value >= kNone) return std::nullopt;
  return value;
}

std::optional<int64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) return std::nullopt;
  return parse(text);
}

// The value of "KEY VALUE" or "KEY: VALUE kB" lines.
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

// None where the product is no possible size either.
std::optional<int64_t> product(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t value = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &value) || value >= kNone) return std::nullopt;
  return value;
}

void add_slurm(std::vector<Limit>& limits) {
  // SLURM means MiB; the same figure in MB is the safe reading.
  constexpr int64_t kMB = 1000 * 1000;
  const auto number = [](const char* name) -> std::optional<int64_t> {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : parse(text);
  };
  const auto add = [&](const char* source, std::optional<int64_t> mb) {
    if (const auto bytes = product(mb, kMB)) limits.push_back({source, *bytes});
  };
  add("SLURM_MEM_PER_NODE", number("SLURM_MEM_PER_NODE"));
  add("SLURM_MEM_PER_CPU x SLURM_CPUS_ON_NODE",
      product(number("SLURM_MEM_PER_CPU"), number("SLURM_CPUS_ON_NODE")));
  add("SLURM_MEM_PER_GPU x SLURM_GPUS_ON_NODE",
      product(number("SLURM_MEM_PER_GPU"), number("SLURM_GPUS_ON_NODE")));
}

// The folders of a cgroup and all its parents, below where its hierarchy is mounted. A container may show a
// path that its mount does not have: then the mount itself is the group.
std::vector<std::string> with_parents(std::string path) {
  std::vector<std::string> paths;
  for (; path.size() > 1 && path.front() == '/'; path.resize(path.rfind('/'))) paths.push_back(path);
  paths.emplace_back("");
  return paths;
}

void add_cgroups(const std::string& root, int64_t own, std::vector<Limit>& limits) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && controllers.find("memory") == std::string::npos) continue;
    for (const std::string& path : with_parents(line.substr(second + 1))) {
      const std::string folder = root + (v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory") + path;
      const auto limit =
          v2 ? read_number(folder + "/memory.max")
             : std::min(read_number(folder + "/memory.limit_in_bytes").value_or(kNone),
                        read_field(folder + "/memory.stat", "hierarchical_memory_limit").value_or(kNone));
      if (!limit || *limit >= kNone) continue;
      const int64_t held = read_field(folder + "/memory.stat", v2 ? "anon" : "total_rss").value_or(0);
      limits.push_back({std::string(v2 ? "cgroup v2 " : "cgroup v1 ") + (path.empty() ? "/" : path), *limit,
                        std::max<int64_t>(held - own, 0)});
    }
  }
}

void add_rlimits(std::vector<Limit>& limits) {
  for (const auto& [name, resource] :
       {std::pair{"RLIMIT_DATA", RLIMIT_DATA}, std::pair{"RLIMIT_AS", RLIMIT_AS}}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(kNone))
      limits.push_back({name, static_cast<int64_t>(limit.rlim_cur)});
  }
}

}  // namespace

std::vector<Limit> find_limits(const std::string& root) {
  std::vector<Limit> limits;
  const int64_t own = process_memory().anonymous;
  add_slurm(limits);
  add_cgroups(root, own, limits);
  add_rlimits(limits);
  const std::string meminfo = root + "/proc/meminfo";
  const auto total = product(read_field(meminfo, "MemTotal"), kKiB);
  const auto available = product(read_field(meminfo, "MemAvailable"), kKiB);
  if (total && available)
    limits.push_back({"MemAvailable", *total, std::max<int64_t>(*total - *available - own, 0)});
  return limits;
}

int64_t usable_memory(const std::vector<Limit>& limits) {
  int64_t least = kNone;
  for (const Limit& limit : limits) least = std::min(least, limit.usable());
  return least;
}

int64_t default_budget(const std::vector<Limit>& limits) {
  return std::max<int64_t>(usable_memory(limits) - 64 * kMiB, kMiB);
}

}  // namespace plimsoll
