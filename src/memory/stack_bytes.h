#pragma once

#include <cstdint>

namespace plimsoll {

/// Returns the address space that the stack of the next thread will need, whether or not its pages are
/// touched.
int64_t stack_bytes();

}  // namespace plimsoll
