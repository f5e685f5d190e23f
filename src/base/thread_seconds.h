#pragma once

#include <ctime>

namespace plimsoll {

/// Returns the processor seconds of this thread. Unlike seconds of the clock, they do not grow if other
/// processes use the processors.
inline double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace plimsoll
