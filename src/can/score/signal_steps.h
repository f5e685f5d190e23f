#pragma once

#include "can/profile/behaviour_profile.h"

namespace plimsoll {

/// Compares the steps of signals in windows with those of benign traffic. Frames of a recording are read
/// once. Not thread-safe.
class SignalSteps {
 public:
  /// Doublings (log2 of the ratio) by which a signal steps further from its prediction than it ever did in
  /// benign traffic, for the worst signal of the window; 0 if none does. Predictions use at most
  /// BehaviourProfile::kLookBack frames of the recording before the window. The order of windows and the
  /// parameters are as for ExtraFrames::worst(); the result does not depend on which windows came before.
  /// With `benign_only`, frames labelled 1 are ignored.
  float worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
              bool benign_only = false, int64_t dropped = 0);
  /// Bytes kept for a profile of `ids` IDs and windows of `window` frames.
  static int64_t bytes(int64_t ids, int64_t window) {
    return ids * static_cast<int64_t>(sizeof(Seen)) + 2 * window * static_cast<int64_t>(sizeof(Step));
  }
  /// Prepares for another recording.
  void reset() { recording_ = nullptr; }

 private:
  // The last two payloads of an ID, and their frames.
  struct Seen {
    uint64_t last = 0;
    uint64_t before_last = 0;
    int64_t last_at = -1;
    int64_t before_last_at = -1;
  };
  // The worst signal of a frame, as a ratio, and the first frame that its prediction depends on.
  struct Step {
    double ratio = 1;
    int64_t from = -1;
  };
  static Step step(const Seen& seen, uint64_t payload, std::span<const Signal> signals);

  const Recording* recording_ = nullptr;
  Vector<Seen, Tag::blocks> seen_;   // Indexed by ID.
  Vector<Step, Tag::blocks> steps_;  // Steps of the frames from first_ up to next_.
  int64_t first_ = 0;                // First frame of the last window.
  int64_t next_ = 0;                 // Next frame to read.
};

}  // namespace plimsoll
