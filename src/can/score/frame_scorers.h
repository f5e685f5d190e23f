#pragma once

#include "can/score/extra_frames.h"
#include "can/score/lone_signals.h"
#include "can/score/profile_statistics.h"
#include "can/score/signal_steps.h"
#include "can/score/state_changes.h"

namespace plimsoll {

/// Computes the statistics of windows that come from their frames, not from their graphs. Each part keeps its
/// state between windows, so windows must be passed in ascending order and with one profile per recording.
/// Not thread-safe.
struct FrameScorers {
  SignalSteps steps = {};
  ExtraFrames extra = {};
  LoneSignals lone = {};
  StateChanges states = {};
  bool benign_only = false;  ///< Ignore frames labelled 1; set for windows from which levels are learned.

  /// Prepares for another recording.
  void reset() {
    steps.reset();
    extra.reset();
    lone.reset();
    states.reset();
  }

  /// Bytes kept for this profile and windows of `window` frames.
  static int64_t bytes(const BehaviourProfile& profile, int64_t window) {
    const int64_t ids = profile.vocabulary().size();
    return SignalSteps::bytes(ids, window) + ExtraFrames::bytes(ids, window) + LoneSignals::bytes(profile) +
           StateChanges::bytes(ids);
  }

  /// `dropped` is defined at ExtraFrames::worst().
  FrameStatistics score(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
                        int64_t dropped = 0) {
    const Vocabulary& vocabulary = profile.vocabulary();
    const LoneSignals::Worst alone = lone.worst(frames, window, profile, benign_only, dropped);
    return {steps.worst(frames, window, profile, benign_only, dropped),
            extra.worst(frames, window, profile, benign_only, dropped),
            profile.checksums().broken(frames, window, vocabulary),
            profile.pairs().worst(frames, window, vocabulary),
            alone.held,
            alone.restless,
            states.silence(frames, window, profile, benign_only, dropped)};
  }
};

}  // namespace plimsoll
