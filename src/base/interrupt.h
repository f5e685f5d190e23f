#pragma once

#include <atomic>
#include <string>

#include "base/error.h"

namespace plimsoll {

/// Set once the process was asked to stop, by whoever catches signals (cli/interrupt.h); never set in a
/// program that catches its own. Work that takes long looks at it and throws Interrupted.
inline std::atomic<bool> interrupt_requested = false;

/// Errors: Interrupted once the process was asked to stop, "interrupted while WHAT".
inline void throw_if_interrupted(const char* what) {
  if (interrupt_requested) throw Interrupted(std::string("interrupted while ") + what);
}

}  // namespace plimsoll
