#pragma once

#include <atomic>
#include <cstdint>

namespace plimsoll {

enum class Waited : uint8_t { input, stopped, timed_out };

/// Waits until there is something to read or the input ends (`input`), the flag is set (`stopped`), or
/// `max_ns` have passed (`timed_out`); 0: no limit. `stop` may be null. Errors: Failure.
Waited wait_for_input(int descriptor, const std::atomic<bool>* stop, int64_t max_ns = 0);

}  // namespace plimsoll
