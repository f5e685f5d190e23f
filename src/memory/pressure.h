#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "memory/pressure_signs.h"

namespace plimsoll {

/// Whether the system has too little memory left for this process to go on as planned, whoever took it.
/// Thread-safe.
class Pressure {
 public:
  virtual ~Pressure() = default;
  /// 0: none. 1: hold nothing that can be read again. 2: hold no more than the work needs at least.
  virtual int level() const = 0;
  /// Where memory is short, in words; of the last time where it no longer is.
  virtual std::string reason() const = 0;
  /// What the process has given back because of it, and takes again when it is over.
  virtual void set_given_back(int64_t bytes) = 0;
};

/// Follows the signs of pressure over time. The level rises by one with each look at which memory is short,
/// and falls to 0 when for some seconds it would not have been short either with all that was given back:
/// five at first, twice as many after each time that it came again, up to five minutes.
class PressureGauge : public Pressure {
 public:
  using Time = PsiMonitor::Time;

  explicit PressureGauge(const std::string& root = "") : signs_(root) {}

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
  mutable std::mutex mutex_;
  std::string reason_;  // guarded by mutex_
};

/// The gauge of this process, looked at every 250 ms on a thread of its own.
class PressureWatch : public PressureGauge {
 public:
  PressureWatch();

 private:
  std::jthread thread_;
};

}  // namespace plimsoll
