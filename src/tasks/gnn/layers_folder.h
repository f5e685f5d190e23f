#pragma once

#include <cstdint>
#include <filesystem>

#include "run/run_folder.h"

namespace plimsoll {

/// The name of a NewFolder for the outputs of a model's layers while nodes of one giant graph are judged:
/// `bytes` of a disk, never memory (tmpfs), which no budget would know of. It is in the run's folder, or if
/// that is in memory, is full or cannot be written, in TMPDIR, then in /var/tmp. Errors: Failure, with the
/// reason for each, if none of them will do.
std::filesystem::path layers_folder(const RunFolder& run, int64_t bytes);

}  // namespace plimsoll
