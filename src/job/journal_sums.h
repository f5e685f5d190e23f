#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// What the journals of a run say in all. Takes one event at a time, so that a journal of weeks takes no more
/// memory than one of minutes. Not thread-safe.
class JournalSums {
 public:
  /// Events in the order in which they were written, one journal after the other.
  void add(const Json& event);

  /// Of memory that ran short, and of waits: `reruns`, `pressure`, `interruptions`, `damaged_checkpoints`,
  /// and `rows`, null where no rows were read.
  Json journal() const;
  /// What NVML said of the GPU; null where the run had none, or no NVML.
  Json device() const;

 private:
  void add_device(const Json& event);

  int64_t reruns_ = 0, reruns_of_start_ = 0, pressure_ = 0, interruptions_ = 0, damaged_ = 0;
  double waited_s_ = 0, stalled_s_ = 0, bytes_read_ = 0;
  bool reads_rows_ = false;

  std::string name_;  // of the GPU; empty: none
  int64_t budget_ = 0, planned_ = 0, held_ = 0, samples_ = 0;
  double busy_ = 0;  // the sum of all samples
};

}  // namespace plimsoll
