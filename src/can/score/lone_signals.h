#pragma once

#include "can/profile/behaviour_profile.h"
#include "can/profile/recent_surprises.h"
#include "can/score/frame_cursor.h"
#include "can/score/lone_ids.h"

namespace plimsoll {

/// Finds signals that do for some time what they never did, while those of other IDs do not: a value that
/// someone overwrites with a constant, or with others than the car would send. Frames of a recording are read
/// once, from its first to its last. Not thread-safe.
class LoneSignals {
 public:
  /// Shorter signals are states.
  static constexpr int kFewestBits = 4;
  /// Signals that held a value for more benign frames may do so at any time.
  static constexpr int32_t kLongestHold = 24;
  /// Held values that are closer to the least or greatest benign one, by this share of their range, are not
  /// judged: a pedal that is not pressed, a car that stands.
  static constexpr double kMargin = 0.1;
  /// The last surprises must be great too, so that it ends with the attack.
  static constexpr int kLast = 2;

  /// In doublings, of the worst ID of a window, less those of the worst other ID.
  struct Worst {
    float held = 0;      ///< by which a value is held for longer than ever, at the window's end
    float restless = 0;  ///< by which surprises are greater than ever, in the mean
  };
  /// Windows come as those of ExtraFrames.
  Worst worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
              bool benign_only = false, int64_t dropped = 0);
  /// Kept for this profile.
  static int64_t bytes(const BehaviourProfile& profile);
  /// What comes next is another recording.
  void reset() { cursor_.reset(); }

 private:
  // Of an ID: its payloads so far.
  struct Seen {
    uint64_t last = 0;
    uint64_t before_last = 0;
    int32_t count = 0;
  };
  // Of a signal: since when it holds, and what it did.
  struct Track {
    uint32_t value = 0;
    int32_t held = 0;  // frames
    RecentSurprises surprises = {};
  };
  void begin(const BehaviourProfile& profile);
  void add(int64_t frame, int32_t id, uint64_t payload, const SignalModel& signals);

  FrameCursor cursor_;
  Vector<Seen, Tag::blocks> seen_;     // by index of the ID
  Vector<Track, Tag::blocks> tracks_;  // by signal
  LoneIds held_;
  LoneIds restless_;
};

}  // namespace plimsoll
