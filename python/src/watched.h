#pragma once

#include <cstdint>
#include <functional>

#include "bindings.h"

namespace plimsoll {

/// Called with the amount of work done and the total.
using Progress = std::function<void(int64_t, int64_t)>;

/// Runs `work` on a thread of its own, without the interpreter's lock. Meanwhile the caller's thread handles
/// signals and calls `callback`, if it is not None, with the latest progress a few times a second and at the
/// end. An exception of either ends the work at its next call of progress and is thrown after it has ended.
void run_watched(const nb::object& callback, const std::function<void(const Progress&)>& work);

}  // namespace plimsoll
