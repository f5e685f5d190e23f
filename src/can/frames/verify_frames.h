#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "can/frames/frames.h"

namespace plimsoll {

/// Adds what is wrong with a `frames` set, checksums aside, one sentence each (store/data_kind.h). Errors:
/// InputError.
void verify_frames(const std::filesystem::path& folder, std::vector<std::string>& wrong);

/// The same for work that reads all frames to make something that lasts. Errors: InputError with the first
/// thing that is wrong.
void require_sound(const FramesView& frames);

}  // namespace plimsoll
