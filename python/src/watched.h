#pragma once

#include <cstdint>
#include <functional>

#include "bindings.h"

namespace plimsoll {

/// Called with the amount of work done and the total.
using Progress = std::function<void(int64_t, int64_t)>;

/// Runs `work` in a separate thread, without the interpreter's lock. Meanwhile the caller's thread handles
/// signals and calls `callback`, if it is not None, with the latest progress, a few times per second and at
/// the end. An exception from either ends the work at its next progress report and is rethrown after the work
/// has ended.
void run_watched(const nb::object& callback, const std::function<void(const Progress&)>& work);

}  // namespace plimsoll
