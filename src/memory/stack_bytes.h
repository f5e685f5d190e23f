#pragma once

#include <cstdint>

namespace plimsoll {

/// Returns the address space of the next thread's stack, whether or not its pages are touched.
int64_t stack_bytes();

}  // namespace plimsoll
