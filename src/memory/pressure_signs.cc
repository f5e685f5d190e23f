#include "memory/pressure_signs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/units.h"

namespace plimsoll {
namespace {

// Minimum bytes that a limit must leave for the kernel's other memory and for growth between two looks: a
// 32nd of the limit, at least 16 MiB and at most 28 MiB. Twice this is less than the 64 MiB that a default
// budget leaves, so a run does not trigger an alarm by itself.
int64_t bound_of(int64_t limit) {
  return std::clamp<int64_t>(limit / 32, 16 * kMiB, 28 * kMiB);
}

// The bound for the whole system. It is larger, because other programs expect more free memory.
int64_t bound_of_system(int64_t total) {
  return std::min<int64_t>(total / 20, 512 * kMiB);
}

std::string pressure_file(const std::string& root) {
  for (const MemoryGroup& group : memory_groups(root))
    if (std::string file = group.folder + "/memory.pressure"; group.v2 && std::filesystem::exists(file))
      return file;
  return root + "/proc/pressure/memory";
}

}  // namespace

std::optional<std::string> PressureSigns::Look::short_of(int64_t more) const {
  for (const Place& place : places_)
    if (place.is_short || place.left - more < place.bound) return place.text;
  return std::nullopt;
}

PressureSigns::PressureSigns(const std::string& root)
    : root_(root), group_stalls_(pressure_file(root)), system_stalls_(root + "/proc/pressure/memory") {
  look({});  // Stores the initial values of the counters.
}

PressureSigns::Look PressureSigns::look(PsiMonitor::Time now) {
  Look look;
  const bool group_stalled = group_stalls_.seen(now);
  const bool system_stalled = system_stalls_.seen(now);
  for (const MemoryGroup& group : memory_groups(root_)) look_at(group, group_stalled, look);
  look_at_system(system_stalled, look);
  return look;
}

bool PressureSigns::rises(const std::string& counter, std::optional<int64_t> value) {
  if (!value) return false;
  const auto [seen, is_new] = counters_.try_emplace(counter, *value);
  const bool more = !is_new && *value > seen->second;
  seen->second = *value;
  return more;
}

void PressureSigns::look_at(const MemoryGroup& group, bool stalled, Look& look) {
  // Uses the events of the group's own limit where the kernel has them. A neighbour's limit does not matter.
  const bool local = group.field("memory.events.local", "max").has_value();
  const auto event = [&](const char* file, const char* key) {
    return rises(fmt::format("{} {}", group.name(), key), group.field(file, key));
  };
  // Every counter is read at every look.
  const char* const events = local ? "memory.events.local" : "memory.events";
  const bool high = event(events, "high");
  const bool max = event(events, "max");
  const bool oom = event(events, "oom");
  const bool killed = event("memory.oom_control", "oom_kill");
  // Anonymous memory is read back from swap, so the shortage affects more than page cache.
  const bool swapped = event("memory.stat", "workingset_refault_anon") && stalled;

  auto limit = group.limit();
  if (const auto soft = group.v2 ? group.number("memory.high") : std::nullopt; soft && *soft > 0)
    limit = std::min(limit.value_or(*soft), *soft);
  if (!limit && !oom && !killed && !swapped) return;
  const int64_t anonymous = group.anonymous();
  const int64_t bytes = limit.value_or(anonymous);
  const int64_t left = std::max<int64_t>(bytes - anonymous, 0);
  const bool reclaims = high || max || stalled;
  const char* const why = oom || killed ? "; the kernel found no free memory"
                          : swapped     ? "; tasks wait for swapped-out memory"
                          : reclaims    ? "; page cache is reclaimed"
                                        : "";
  look.places_.push_back({fmt::format("{}: {} of {} left next to {} of anonymous memory{}", group.name(),
                                      format_bytes(left), format_bytes(bytes), format_bytes(anonymous), why),
                          left, bound_of(bytes) * (reclaims ? 2 : 1), oom || killed || swapped});
}

void PressureSigns::look_at_system(bool stalled, Look& look) {
  const std::string meminfo = root_ + "/proc/meminfo";
  const auto total = read_field(meminfo, "MemTotal");
  const auto available = read_field(meminfo, "MemAvailable");
  if (!total || !available) return;
  look.places_.push_back({fmt::format("MemAvailable: {} of {} left{}", format_bytes(*available * kKiB),
                                      format_bytes(*total * kKiB), stalled ? "; tasks wait for memory" : ""),
                          *available * kKiB, bound_of_system(*total * kKiB) * (stalled ? 2 : 1), false});
}

}  // namespace plimsoll
