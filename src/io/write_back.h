#pragma once

#include <cstdint>

#include "io/file.h"

namespace plimsoll {

/// Has the kernel start to write bytes of a file that have been written to it, without waiting, so that a
/// sync at the end has little left to do. Where the system cannot, nothing happens. Any thread.
void start_write_back(const File& file, int64_t offset, int64_t bytes);

}  // namespace plimsoll
