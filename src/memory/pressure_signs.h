#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "memory/cgroup.h"
#include "memory/psi_monitor.h"

namespace plimsoll {

/// The kernel's signs that memory is getting short, for the groups of this process and for the whole system.
///
/// Page cache does not count, because the kernel reclaims it when needed. The sign is how much a limit leaves
/// in addition to the anonymous memory of all processes under it. PsiMonitor and the events of a group also
/// react to page cache in healthy runs, so they do not raise an alarm alone. Instead they double the bound
/// below which memory counts as short. Not thread-safe.
class PressureSigns {
 public:
  explicit PressureSigns(const std::string& root);

  /// A snapshot of the signs.
  class Look {
   public:
    /// Returns where memory would be short if `more` bytes were held: "cgroup v1 /job: 12.0 MiB of 512 MiB
    /// left next to 498 MiB of anonymous memory". Returns nullopt if it would not be short.
    std::optional<std::string> short_of(int64_t more) const;

   private:
    friend class PressureSigns;
    struct Place {
      std::string text;
      int64_t left = 0;
      int64_t bound = 0;
      bool is_short = false;  // True if memory is short regardless of the bytes left.
    };
    std::vector<Place> places_;
  };
  Look look(PsiMonitor::Time now);

 private:
  bool rises(const std::string& counter, std::optional<int64_t> value);
  void look_at(const MemoryGroup& group, bool stalled, Look& look);
  void look_at_system(bool stalled, Look& look);

  std::string root_;
  PsiMonitor group_stalls_;
  PsiMonitor system_stalls_;
  std::map<std::string, int64_t> counters_;  // Last values of the kernel's counters.
};

}  // namespace plimsoll
