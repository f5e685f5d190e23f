#pragma once

#include "windows/behaviour_profile.h"

namespace plimsoll {

/// Compares the steps of signals in windows with those of benign traffic, and keeps its scratch memory
/// between them. Not thread-safe.
class SignalSteps {
 public:
  /// Doublings by which a signal steps further from what is predicted than it ever did in benign traffic, for
  /// the worst signal of the window; 0 for none. `frames` is the whole set: predictions are made of at most
  /// BehaviourProfile::kLookBack frames of the recording before the window.
  float worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile);
  /// Kept for a profile of so many IDs.
  static int64_t bytes(int64_t ids) { return (ids + 1) * static_cast<int64_t>(sizeof(Seen)); }

 private:
  struct Seen {
    uint64_t last = 0;
    uint64_t before_last = 0;
    int32_t count = 0;
  };
  Vector<Seen, Tag::blocks> seen_;  // by index of the ID
};

}  // namespace plimsoll
