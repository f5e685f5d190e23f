#pragma once

#include <cstdint>
#include <functional>

#include "bindings.h"

namespace plimsoll {

/// What is done, and what there is to do.
using Progress = std::function<void(int64_t, int64_t)>;

/// Runs `work` on a thread of its own, without the interpreter's lock, and sees to Python meanwhile on the
/// caller's: signals are handled, and `callback`, if it is not None, gets the latest progress a few times a
/// second and at the end. An exception of either ends the work at its next call of progress and is thrown
/// when it has ended.
void run_watched(const nb::object& callback, const std::function<void(const Progress&)>& work);

}  // namespace plimsoll
