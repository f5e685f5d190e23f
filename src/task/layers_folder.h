#pragma once

#include <filesystem>

#include "task/run_folder.h"

namespace plimsoll {

/// The NewFolder for what layers say of all nodes of a giant graph while a run is asked: in the run's, or
/// where that cannot be written, in TMPDIR.
std::filesystem::path layers_folder(const RunFolder& run);

}  // namespace plimsoll
