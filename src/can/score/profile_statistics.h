#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sample/block/block.h"

namespace plimsoll {

/// The ways in which a window can differ from a benign profile that are plain to see; each is a number, and
/// the greater it is the more the window differs.
enum class Statistic : uint8_t {
  unknown,      ///< share of frames whose ID the profile does not have
  early,        ///< doublings by which an ID's frames come too soon, at worst
  early_share,  ///< share of frames that plainly come too soon
  surplus,      ///< share of frames beyond as many as an ID's period leaves room for
  silence,      ///< doublings by which an ID is silent for too long, at worst
  load,         ///< doublings of the frames a second, from one in 10 s
  still,        ///< doublings by which a payload that changes has stood still for too long, at worst
  transitions,  ///< share of steps between known IDs that benign traffic does not take
  steps,        ///< doublings by which a signal steps further than ever, at worst (can/score/signal_steps.h)
  extra,        ///< margins by which a frame comes too soon to be its sender's (can/score/extra_frames.h)
  checksum,     ///< frames whose payload has a wrong checksum (can/profile/checksum_model.h)
  apart,     ///< doublings by which two signals that belong together are apart (can/profile/signal_pairs.h)
  held,      ///< doublings by which a signal, alone, holds a value too long (can/score/lone_signals.h)
  restless,  ///< doublings by which a signal, alone, strays from predictions for some time (likewise)
};
inline constexpr size_t kStatistics = 14;
const std::array<std::string, kStatistics>& statistic_names();

/// By Statistic.
using ProfileStatistics = std::array<float, kStatistics>;

/// What its frames say of a window that its behaviour graph does not: FrameJudges.
struct FrameStatistics {
  float steps = 0;
  float extra = 0;
  float checksum = 0;
  float apart = 0;
  float held = 0;
  float restless = 0;
  std::optional<float> silence =
      {};  ///< in place of the graph's, if an ID was turned off (can/score/state_changes.h)
};

/// Of a window, from its behaviour graph with all its columns and what its frames say. All are 0 of a window
/// of another vehicle than the profile's (can/profile/unknown_ids.h). With `own_profile`, one that is
/// calibrated, there is no other vehicle: unknown IDs are an attacker's, however many.
ProfileStatistics profile_statistics(const GraphBlock& block, int64_t graph, const FrameStatistics& by_frames,
                                     bool own_profile);

}  // namespace plimsoll
