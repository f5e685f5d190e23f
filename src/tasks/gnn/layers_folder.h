#pragma once

#include <cstdint>
#include <filesystem>

#include "run/run_folder.h"

namespace plimsoll {

/// Returns the path of a NewFolder for the outputs of a model's layers while nodes of one giant graph are
/// predicted. They need `bytes` on a disk; a folder in memory (tmpfs) is not used, because the budget would
/// not count it. The folder is in the run's folder or, if that is in memory, full or not writable, in TMPDIR,
/// or /tmp if it is not set, then in /var/tmp. Errors: Failure, with the reason for each, if none is
/// suitable.
std::filesystem::path layers_folder(const RunFolder& run, int64_t bytes);

}  // namespace plimsoll
