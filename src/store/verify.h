#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "can/frames/frames.h"

namespace plimsoll {

/// Reads a data set through and through: every checksum, every offset, every index, every flag.
/// Returns what is wrong, one sentence each; nothing if the data set is whole.
/// Errors: InputError when it cannot even be opened.
std::vector<std::string> verify_data_set(const std::filesystem::path& folder);

/// What verify_data_set() says of frames, checksums aside, for who reads all of them to make something that
/// lasts. Errors: InputError with the first thing that is wrong.
void require_sound(const FramesView& frames);

}  // namespace plimsoll
