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

  /// `dropped`: as ExtraFrames::worst().
  FrameStatistics judge(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
                        int64_t dropped = 0) {
    return {steps.worst(frames, window, profile), extra.worst(frames, window, profile, benign_only, dropped)};
  }
};

}  // namespace plimsoll
