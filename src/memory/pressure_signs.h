#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "memory/cgroup.h"
#include "memory/psi_monitor.h"

namespace plimsoll {

/// What the kernel says about memory getting short, for the groups of this process and the whole system.
///
/// Page cache is not held against anybody: it goes when its place is needed. What counts is what a limit
/// leaves beside anonymous memory, whoever holds it. PsiMonitor and the events of a group come from page
/// cache as well, in runs that are well, so they raise no alarm alone: they double the bound below which
/// there is one. Not thread-safe.
class PressureSigns {
 public:
  explicit PressureSigns(const std::string& root);

  /// One look at all of them.
  class Look {
   public:
    /// Where it would be short if `more` bytes were held, in words: "cgroup v1 /job: 12.0 MiB of 512 MiB left
    /// beside 498 MiB anonymous"; none where it would not.
    std::optional<std::string> short_of(int64_t more) const;

   private:
    friend class PressureSigns;
    struct Place {
      std::string text;
      int64_t left = 0;
      int64_t bound = 0;
      bool is_short = false;  // whatever is left
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
  std::map<std::string, int64_t> counters_;  // as last seen
};

}  // namespace plimsoll
