#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "memory/pressure_signs.h"

namespace plimsoll {

/// Whether the system has too little memory left for this process to continue as planned, whichever process
/// uses it. Thread-safe.
class Pressure {
 public:
  virtual ~Pressure() = default;
  /// Returns the level of pressure. 0: none. 1: hold nothing that can be read again. 2: hold only the minimum
  /// that the work needs.
  virtual int level() const = 0;
  /// Returns where memory is short, or was short the last time.
  virtual std::string reason() const = 0;
  /// Sets how many bytes the process has given back because of pressure and will take again afterwards.
  virtual void set_given_back(int64_t bytes) = 0;
};

/// Turns the signs of pressure into a level over time. The level rises by one, up to 2, with each check that
/// finds memory short. It falls to 0 when, for some seconds, memory has not been short and would not have
/// been short even if all given-back bytes had been held. This period is five seconds at first and doubles
/// each time the level falls to 0, up to five minutes.
class PressureGauge : public Pressure {
 public:
  using Time = PsiMonitor::Time;

  /// `root` is the folder that contains /proc and /sys; tests pass their own tree.
  explicit PressureGauge(const std::string& root = "") : signs_(root) {}

  /// Checks the signs at time `now` and updates the level. Only one thread may call it.
  void look(Time now);
  int level() const override { return level_.load(); }
  std::string reason() const override;
  void set_given_back(int64_t bytes) override { given_back_ = bytes; }

 private:
  PressureSigns signs_;
  std::atomic<int> level_ = 0;
  std::atomic<int64_t> given_back_ = 0;
  Time last_short_;
  std::chrono::seconds calm_{5};
  mutable Mutex mutex_;
  std::string reason_ PLIMSOLL_GUARDED_BY(mutex_);
};

/// The gauge of this process. It checks every 250 ms on a separate thread.
class PressureWatch : public PressureGauge {
 public:
  /// Errors: ThreadRefused.
  PressureWatch();

 private:
  std::jthread thread_;
};

}  // namespace plimsoll
