#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// Totals over the journals of a run. It processes one event at a time, so its memory does not grow with the
/// length of a journal. Not thread-safe.
class JournalSums {
 public:
  /// Adds an event. Add the events of each journal in the order in which they were written, one journal after
  /// the other.
  void add(const Json& event);

  /// Returns totals about shortage of memory and waits: `reruns`, `pressure`, `interruptions`,
  /// `damaged_checkpoints`, and `rows`, which is null if no rows were read.
  Json journal() const;
  /// Returns the memory of the GPU and the values that NVML reported (null for each that it did not report);
  /// null if the run used no GPU.
  Json device() const;

 private:
  void add_device(const Json& event, bool is_progress);

  int64_t reruns_ = 0, reruns_of_start_ = 0, pressure_ = 0, interruptions_ = 0, damaged_ = 0;
  double waited_s_ = 0, stalled_s_ = 0, bytes_read_ = 0;
  bool reads_rows_ = false;

  std::string name_;  // Name of the GPU; empty if there is none.
  int64_t budget_ = 0, planned_ = 0, used_ = 0, min_budget_ = 0, held_ = 0, samples_ = 0;
  double busy_ = 0;  // Sum of all samples.
};

}  // namespace plimsoll
