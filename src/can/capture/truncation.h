#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// The place where a capture ends too early, as after a power failure or an interrupted copy.
struct Truncation {
  int64_t at = 0;        ///< Byte of the unpacked capture at which the incomplete part starts.
  int64_t left_out = 0;  ///< Number of bytes from `at` on that were not read.
};

/// The warning about a cut-off capture: file, byte, number of frames read before it, and how to refuse such
/// files.
std::string truncation_text(const std::string& file, const Truncation& truncation, int64_t frames);

}  // namespace plimsoll
