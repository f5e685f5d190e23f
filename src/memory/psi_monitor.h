#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace plimsoll {

/// Reports whether tasks have stalled for lack of memory, from the kernel's pressure stall information (PSI).
/// It uses a trigger if the kernel allows one, otherwise the running total in the file. If neither is
/// available, it reports no stall. Not thread-safe.
class PsiMonitor {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `file` is memory.pressure of a group, or /proc/pressure/memory.
  explicit PsiMonitor(const std::string& file);
  ~PsiMonitor();
  PsiMonitor(const PsiMonitor&) = delete;
  PsiMonitor& operator=(const PsiMonitor&) = delete;

  /// Returns whether tasks stalled for a tenth of the two seconds before `now`, which must not decrease
  /// between calls. With a trigger, it may be any two-second window that ended within these two seconds.
  /// Never waits.
  bool seen(Time now);

 private:
  void ask_trigger(Time now);
  void read_total(Time now);
  void close_trigger();

  std::string file_;
  int trigger_ = -1;
  std::optional<Time> last_;      // Time of the last stall seen.
  std::optional<Time> since_;     // Time when total_ was read.
  std::optional<int64_t> total_;  // Microseconds.
};

}  // namespace plimsoll
