#pragma once

#include <atomic>
#include <string>

#include "base/error.h"

namespace plimsoll {

/// True once the process was asked to stop. The code that catches signals sets it (cli/interrupt.h); a
/// program with its own signal handlers never does. Long operations check it and throw Interrupted.
inline std::atomic<bool> interrupt_requested = false;

/// Throws Interrupted, "interrupted while WHAT", if the process was asked to stop.
inline void throw_if_interrupted(const char* what) {
  if (interrupt_requested) throw Interrupted(std::string("interrupted while ") + what);
}

}  // namespace plimsoll
