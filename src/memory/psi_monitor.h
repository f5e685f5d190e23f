#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace plimsoll {

/// Whether tasks have stalled for want of memory: the kernel's pressure stall information (PSI). By a trigger
/// where one may be set, else by the running total of the file; where there is neither, never. Not
/// thread-safe.
class PsiMonitor {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `file`: memory.pressure of a group, or /proc/pressure/memory.
  explicit PsiMonitor(const std::string& file);
  ~PsiMonitor();
  PsiMonitor(const PsiMonitor&) = delete;
  PsiMonitor& operator=(const PsiMonitor&) = delete;

  /// Whether tasks stalled for a tenth of the two seconds before `now` or, by trigger, of two seconds that
  /// ended in these. Never waits.
  bool seen(Time now);

 private:
  void ask_trigger(Time now);
  void read_total(Time now);
  void close_trigger();

  std::string file_;
  int trigger_ = -1;
  std::optional<Time> last_;      // when a stall was seen
  std::optional<Time> since_;     // when total_ was read
  std::optional<int64_t> total_;  // microseconds
};

}  // namespace plimsoll
