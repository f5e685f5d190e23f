#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sample/block/block.h"

namespace plimsoll {

/// Obvious ways in which a window can differ from a benign profile. The greater a statistic, the more the
/// window differs. Doublings are log2 of the ratio of what is observed to the benign extreme.
enum class Statistic : uint8_t {
  unknown,      ///< Share of frames whose ID is not in the profile.
  early,        ///< Maximum doublings by which frames of an ID come too soon.
  early_share,  ///< Share of frames that obviously come too soon.
  surplus,      ///< Share of frames beyond the maximum that an ID's period allows.
  silence,      ///< Maximum doublings by which an ID is silent for too long.
  load,         ///< Frames per second, as doublings above one frame in 10 s.
  still,  ///< Maximum doublings by which a payload that normally changes has been constant for too long.
  transitions,  ///< Share of transitions between known IDs that do not occur in benign traffic.
  steps,  ///< Maximum doublings by which a signal steps further than ever before (can/score/signal_steps.h).
  extra,  ///< Multiple of the margin by which a frame comes too soon (can/score/extra_frames.h).
  checksum,  ///< Number of frames whose payload has a wrong checksum (can/profile/checksum_model.h).
  apart,     ///< Doublings by which two signals that belong together differ (can/profile/signal_pairs.h).
  held,      ///< Doublings by which a single signal holds a value too long (can/score/lone_signals.h).
  restless,  ///< Doublings by which a single signal departs from predictions for some time
             ///< (can/score/lone_signals.h).
};
inline constexpr size_t kStatistics = 14;
/// Names indexed by Statistic.
const std::array<std::string, kStatistics>& statistic_names();

/// Values indexed by Statistic.
using ProfileStatistics = std::array<float, kStatistics>;

/// Statistics that come from a window's frames, not from its behaviour graph (FrameScorers). Each is the
/// value of the Statistic of the same name.
struct FrameStatistics {
  float steps = 0;
  float extra = 0;
  float checksum = 0;
  float apart = 0;
  float held = 0;
  float restless = 0;
  /// Replaces the graph's value if an ID was turned off (can/score/state_changes.h).
  std::optional<float> silence = {};
};

/// The statistics of a window, from its behaviour graph, with all columns, which is graph `graph` of the
/// block, and from its frames. All are 0 for a window of a vehicle other than the profile's
/// (can/profile/unknown_ids.h). If `own_profile` is set, the profile was calibrated on the vehicle itself,
/// and unknown IDs belong to an attacker, however many there are.
ProfileStatistics profile_statistics(const GraphBlock& block, int64_t graph, const FrameStatistics& by_frames,
                                     bool own_profile);

}  // namespace plimsoll
