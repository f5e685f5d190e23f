#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// The place where a capture ends too soon, as after a power failure or a copy that was interrupted.
struct Truncation {
  int64_t at = 0;  ///< byte where what is not whole begins; of the unpacked capture, if the file is packed
  int64_t left_out = 0;  ///< bytes from there on that were not read
};

/// The warning that says so: file, byte, how many frames were read before it, and how to refuse such files.
std::string truncation_text(const std::string& file, const Truncation& truncation, int64_t frames);

}  // namespace plimsoll
