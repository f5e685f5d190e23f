#pragma once

#include <span>
#include <string>

#include "can/live/stream_detector.h"

namespace plimsoll {

/// The reason why a window is an alarm.
struct AlarmReason {
  /// The profile statistic that is furthest above the threshold (can/detector/fusion.h). If none is, it is
  /// "unknown" for a window with unknown IDs, otherwise the network's part: the network's score saturates on
  /// anything it has not seen, so it comes last. Empty if the score is NaN.
  std::string part;
  /// The strength: 1 at the threshold, or if only the network's part is above it; NaN if the score is NaN.
  float strength = 0;
};

/// The reason of a window whose result is an alarm at this threshold.
AlarmReason reason_of(const WindowResult& result, float threshold, bool has_unknown_ids);

/// Describes a part, such as "unknown ID 0x18EAFF0B" or "wrong checksum". `unknown` lists the IDs that the
/// detector does not know; only the first ones are named.
std::string reason_text(const std::string& part, std::span<const std::string> unknown);

}  // namespace plimsoll
