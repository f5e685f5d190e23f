#pragma once

#include <atomic>

namespace plimsoll {

/// Waits until there is something to read, or the end of it; false when the flag is set before. `stop` may be
/// null. Errors: Failure.
bool wait_for_input(int descriptor, const std::atomic<bool>* stop);

}  // namespace plimsoll
