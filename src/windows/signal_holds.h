#pragma once

#include "windows/behaviour_profile.h"

namespace plimsoll {

/// Finds signals that hold one value for longer than they ever did, while the signals of other IDs do not: a
/// value that someone overwrites with a constant. In a car that stops, those of many IDs hold at once. Frames
/// of a recording are read once, from its first to its last. Not thread-safe.
class SignalHolds {
 public:
  /// Shorter signals are states, and those that held a value for more benign frames may do so at any time.
  static constexpr int kFewestBits = 4;
  static constexpr int32_t kLongestHold = 24;
  /// Held values that are closer to the least or greatest benign one, by this share of their range, are not
  /// judged: a pedal that is not pressed, a car that stands.
  static constexpr double kMargin = 0.1;

  /// Doublings by which a signal holds for longer than ever at the end of a window, less those of the signal
  /// of another ID that holds worst; of IDs that the window has. Windows come as those of ExtraFrames.
  float worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
              bool benign_only = false, int64_t dropped = 0);
  /// Kept for this profile.
  static int64_t bytes(const BehaviourProfile& profile);
  /// What comes next is another recording.
  void reset() { recording_ = nullptr; }

 private:
  // Of a signal: since when it holds.
  struct Held {
    uint32_t value = 0;
    int32_t frames = 0;
  };
  // Of an ID, for its last frame, in doublings: of all its signals, and of those within their range.
  struct Holds {
    float any = 0;
    float within = 0;
    int64_t last = -1;  // frame
  };
  void add(int32_t id, uint64_t payload, const SignalModel& signals);

  const Recording* recording_ = nullptr;
  Vector<Held, Tag::blocks> held_;    // by signal
  Vector<Holds, Tag::blocks> holds_;  // by index of the ID
  int64_t first_ = 0;                 // frame of the last window
  int64_t next_ = 0;                  // to be read
};

}  // namespace plimsoll
