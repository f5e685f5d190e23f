#pragma once

#include "windows/extra_frames.h"
#include "windows/profile_statistics.h"
#include "windows/signal_holds.h"
#include "windows/signal_steps.h"

namespace plimsoll {

/// What the frames of windows say that graphs do not: each judge keeps what it knows between windows, which
/// come in ascending order and with one profile a recording. Not thread-safe.
struct FrameJudges {
  SignalSteps steps = {};
  ExtraFrames extra = {};
  SignalHolds holds = {};
  bool benign_only = false;  ///< frames labelled 1 are as if they were not there: of windows that set levels

  /// What comes next is another recording.
  void reset() {
    extra.reset();
    holds.reset();
  }

  /// What the judges keep, with this profile and windows of so many frames.
  static int64_t bytes(const BehaviourProfile& profile, int64_t window) {
    const int64_t ids = profile.vocabulary().size();
    return SignalSteps::bytes(ids) + ExtraFrames::bytes(ids, window) + SignalHolds::bytes(profile);
  }

  /// `dropped`: as ExtraFrames::worst().
  FrameStatistics judge(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
                        int64_t dropped = 0) {
    const Vocabulary& vocabulary = profile.vocabulary();
    return {steps.worst(frames, window, profile), extra.worst(frames, window, profile, benign_only, dropped),
            profile.checksums().broken(frames, window, vocabulary),
            profile.pairs().worst(frames, window, vocabulary),
            holds.worst(frames, window, profile, benign_only, dropped)};
  }
};

}  // namespace plimsoll
