#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "can/frames/frames.h"

namespace plimsoll {

/// Adds one sentence to `wrong` for each defect of a `frames` set other than wrong checksums
/// (store/data_kind.h). Stops looking at frames once `wrong` has kMaxFindings sentences. Errors: InputError
/// if the set cannot be opened.
void verify_frames(const std::filesystem::path& folder, std::vector<std::string>& wrong);

/// Checks a set before work that reads all frames to make something permanent. Errors: InputError that names
/// the first defect.
void require_sound(const FramesView& frames);

}  // namespace plimsoll
