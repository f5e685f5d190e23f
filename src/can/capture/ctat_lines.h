#pragma once

#include <string_view>

#include "can/frames/frame_batch.h"

namespace plimsoll {

/// Appends the frames of the leading lines of `text` that have the usual form of ctat-csv, such as
/// "1513920254.785127,0C1,1100220000000000,0\n", eight or sixteen characters at a time, and counts them in
/// `lines`. Returns the bytes of these lines: the line after them is of another form, or bad, or too near to
/// the end of the text, and is CaptureFormat::parse's.
///
/// Usual: a time in seconds with 1 to 8 digits after the point; an ID of 1 to 8 hex digits; 1 to 8 bytes of
/// payload; a label; nothing else. The frames are those that CaptureFormat::parse would give.
size_t parse_usual_ctat_lines(std::string_view text, FrameBatch& out, int64_t& lines);

}  // namespace plimsoll
