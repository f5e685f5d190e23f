#pragma once

#include <atomic>

namespace plimsoll {

/// Set once the process was asked to stop, by whoever catches signals (cli/interrupt.h); never set in a
/// program that catches its own. Work that takes long looks at it and throws Interrupted.
inline std::atomic<bool> interrupt_requested = false;

}  // namespace plimsoll
