#pragma once

#include <cstdint>

#include "can/frames/frames.h"
#include "memory/vector.h"

namespace plimsoll {

/// An ID whose frames follow each other at a steady pace in a recording.
struct PeriodicId {
  MessageKey key = 0;  ///< Key as in FrameSpans::key().
  int64_t frames = 0;  ///< Frames with a payload.

  bool operator==(const PeriodicId&) const = default;
};

/// The periodic IDs of a recording in the order in which they appear. A periodic ID has at least 50 frames, a
/// mean gap of 1 us to 200 ms, and a standard deviation of the gaps of at most half the mean. Frames without
/// a payload, remote frames and error frames do not count. If times run backwards, the latest time counts.
Vector<PeriodicId, Tag::ingest> periodic_ids(const FrameSpans& frames);

}  // namespace plimsoll
