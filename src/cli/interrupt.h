#pragma once

#include <atomic>

namespace plimsoll {

/// From now on the first TERM, INT or USR1 sets the flag that is returned, so that work can end in order; a
/// second one ends the process at once with 128 + its number.
const std::atomic<bool>& catch_interrupts();

}  // namespace plimsoll
