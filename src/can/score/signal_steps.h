#pragma once

#include "can/profile/behaviour_profile.h"

namespace plimsoll {

/// Compares the steps of signals in windows with those of benign traffic. Frames of a recording are read
/// once. Not thread-safe.
class SignalSteps {
 public:
  /// Doublings by which a signal steps further from what is predicted than it ever did in benign traffic, for
  /// the worst signal of the window; 0 for none. Predictions are made of at most BehaviourProfile::kLookBack
  /// frames of the recording before the window. Windows come as those of ExtraFrames; which came before
  /// changes nothing. With `benign_only` frames labelled 1 are as if they were not there.
  float worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
              bool benign_only = false, int64_t dropped = 0);
  /// Kept for a profile of so many IDs and windows of so many frames.
  static int64_t bytes(int64_t ids, int64_t window) {
    return ids * static_cast<int64_t>(sizeof(Seen)) + 2 * window * static_cast<int64_t>(sizeof(Step));
  }
  /// What comes next is another recording.
  void reset() { recording_ = nullptr; }

 private:
  // The last two payloads of an ID, and the frames they are of.
  struct Seen {
    uint64_t last = 0;
    uint64_t before_last = 0;
    int64_t last_at = -1;
    int64_t before_last_at = -1;
  };
  // Of a frame: its worst signal, as a ratio, and the first frame that tells so.
  struct Step {
    double ratio = 1;
    int64_t from = -1;
  };
  static Step step(const Seen& seen, uint64_t payload, std::span<const Signal> signals);

  const Recording* recording_ = nullptr;
  Vector<Seen, Tag::blocks> seen_;   // by index of the ID
  Vector<Step, Tag::blocks> steps_;  // of the frames from first_ on, up to next_
  int64_t first_ = 0;                // frame of the last window
  int64_t next_ = 0;                 // to be read
};

}  // namespace plimsoll
