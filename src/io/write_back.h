#pragma once

#include <cstdint>

#include "io/file.h"

namespace plimsoll {

/// Asks the kernel to start writing bytes of a file to the disk, without waiting, so that a final sync has
/// little left to do. Does nothing if the system does not support it. Thread-safe.
void start_write_back(const File& file, int64_t offset, int64_t bytes);

}  // namespace plimsoll
