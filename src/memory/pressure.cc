#include "memory/pressure.h"

#include <algorithm>
#include <exception>

#include "base/mutex.h"
#include "base/start_thread.h"

namespace plimsoll {
namespace {

constexpr std::chrono::seconds kLongestCalm = std::chrono::minutes(5);

}  // namespace

void PressureGauge::look(Time now) {
  const PressureSigns::Look look = signs_.look(now);
  const int level = level_;
  if (const auto reason = look.short_of(0)) {
    last_short_ = now;
    {
      const MutexLock lock(mutex_);
      reason_ = *reason;
    }
    level_ = std::min(level + 1, 2);
  } else if (level > 0 && look.short_of(given_back_)) {
    last_short_ = now;
  } else if (level > 0 && now - last_short_ >= calm_) {
    calm_ = std::min(2 * calm_, kLongestCalm);
    level_ = 0;
  }
}

std::string PressureGauge::reason() const {
  const MutexLock lock(mutex_);
  return reason_;
}

PressureWatch::PressureWatch() {
  thread_ = start_thread([this](const std::stop_token& stop) {
    Mutex mutex;
    StoppableConditionVariable wake;
    const MutexLock lock(mutex);
    do {
      try {
        look(std::chrono::steady_clock::now());
        // No memory to read the kernel's files. Threads that do the work will see the shortage themselves.
      } catch (const std::exception&) {
      }
    } while (
        !wake.wait_for(mutex, stop, std::chrono::milliseconds(250), [&] { return stop.stop_requested(); }));
  });
}

}  // namespace plimsoll
