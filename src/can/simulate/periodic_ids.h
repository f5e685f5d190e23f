#pragma once

#include <cstdint>

#include "can/frames/frames.h"
#include "memory/vector.h"

namespace plimsoll {

/// An ID that a recording sends at a steady pace.
struct PeriodicId {
  MessageKey key = 0;  ///< as FrameSpans::key()
  int64_t frames = 0;  ///< with a payload

  bool operator==(const PeriodicId&) const = default;
};

/// The periodic IDs of a recording, in the order in which they appear. They have at least 50 frames; the mean
/// gap between these is 1 us to 200 ms, and the standard deviation of the gaps at most half of it. Frames
/// without a payload, remote and error frames do not count. Where times run back the latest one counts.
Vector<PeriodicId, Tag::ingest> periodic_ids(const FrameSpans& frames);

}  // namespace plimsoll
