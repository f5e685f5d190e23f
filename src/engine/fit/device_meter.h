#pragma once

#include <chrono>

#include "engine/fit/position.h"
#include "engine/plan/device_run.h"

namespace plimsoll {

/// Measures the memory and the busy share of a run's device in an epoch. Not thread-safe.
class DeviceMeter {
 public:
  /// `run` and its `plan` must outlive the meter. If they are null, there is no device and nothing is
  /// measured.
  DeviceMeter(const DeviceRun* run, const DevicePlan* plan) : run_(run), plan_(plan) {}

  /// Starts an epoch.
  void begin();
  /// Samples the driver's monitor, at most once per second, because a sample may need milliseconds.
  void look();
  /// Sets the members of `cost` that belong to the device. `before` is the cost of the epoch in an earlier
  /// process.
  void add_to(EpochCost& cost, const EpochCost& before);

 private:
  using Clock = std::chrono::steady_clock;
  void sample();

  const DeviceRun* run_;
  const DevicePlan* plan_;
  Clock::time_point last_look_ = {};
  int64_t process_ = 0;  // Maximum since begin().
  double busy_ = 0;      // Sum over samples.
  int64_t samples_ = 0;
};

}  // namespace plimsoll
