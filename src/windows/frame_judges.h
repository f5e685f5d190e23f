#pragma once

#include "windows/extra_frames.h"
#include "windows/profile_statistics.h"
#include "windows/signal_steps.h"

namespace plimsoll {

/// What the frames of windows say that graphs do not: each judge keeps what it knows between windows, which
/// come in ascending order and with one profile a recording. Not thread-safe.
struct FrameJudges {
  SignalSteps steps = {};
  ExtraFrames extra = {};
  bool benign_only = false;  ///< frames labelled 1 are as if they were not there: of windows that set levels

  /// What the judges keep, with profiles of so many IDs and windows of so many frames.
  static int64_t bytes(int64_t ids, int64_t window) {
    return SignalSteps::bytes(ids) + ExtraFrames::bytes(ids, window);
  }

  /// `dropped`: as ExtraFrames::worst().
  FrameStatistics judge(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
                        int64_t dropped = 0) {
    return {steps.worst(frames, window, profile), extra.worst(frames, window, profile, benign_only, dropped),
            profile.checksums().broken(frames, window, profile.vocabulary())};
  }
};

}  // namespace plimsoll
