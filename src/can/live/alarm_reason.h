#pragma once

#include <span>
#include <string>

#include "can/live/stream_detector.h"

namespace plimsoll {

/// Why a window is an alarm.
struct AlarmReason {
  /// The part that is furthest above the threshold (can/detector/fusion.h). The network's is one only if no
  /// other part is above and the window has no unknown ID: its score saturates at anything that it has not
  /// seen.
  std::string part;
  /// By how much: 1 at the threshold. 1 too for what only the network finds odd; no number if the score is
  /// none.
  float strength = 0;
};

AlarmReason reason_of(const Verdict& verdict, float threshold, bool has_unknown_ids);

/// "unknown ID 0x18EAFF0B", or "wrong checksum": a part in words. `unknown`: texts of the IDs that the
/// detector does not know, of which the first ones are named.
std::string reason_text(const std::string& part, std::span<const std::string> unknown);

}  // namespace plimsoll
