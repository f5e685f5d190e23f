#pragma once

#include <string_view>

#include "can/frames/frame_batch.h"

namespace plimsoll {

/// Appends the frames of the leading lines of `text` that have the usual form of ctat-csv, such as
/// "1513920254.785127,0C1,1100220000000000,0\n", reading eight or sixteen characters at a time. Adds their
/// number to `lines` and returns their bytes. The next line has another form, is bad or is too close to the
/// end of the text, and must go to CaptureFormat::parse().
///
/// A usual line has a time in seconds with 1 to 8 digits after the point, an ID of 1 to 8 hex digits, 1 to 8
/// bytes of payload, a label and nothing else. The frames are those that CaptureFormat::parse() would give.
size_t parse_usual_ctat_lines(std::string_view text, FrameBatch& out, int64_t& lines);

}  // namespace plimsoll
