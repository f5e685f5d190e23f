#pragma once

#include "can/profile/behaviour_profile.h"
#include "can/profile/recent_surprises.h"
#include "can/score/frame_cursor.h"
#include "can/score/lone_ids.h"

namespace plimsoll {

/// Finds signals that behave for some time as they never did before, while signals of other IDs do not:
/// someone overwrites their values with a constant, or with values that the car would not send. Frames of a
/// recording are read once, from its first to its last. Not thread-safe.
class LoneSignals {
 public:
  /// Shorter signals are states and are not evaluated.
  static constexpr int kMinBits = 4;
  /// Signals that held a value for more benign frames than this may do so at any time.
  static constexpr int32_t kLongestHold = 24;
  /// Held values within this share of the range from the minimum or maximum benign value are not evaluated:
  /// for example, a pedal is not pressed or the car does not move.
  static constexpr double kMargin = 0.1;
  /// The mean of the last kLast surprises must be large, too, so that the finding ends with the attack.
  static constexpr int kLast = 2;

  /// Values of the worst ID of a window minus those of the worst other ID, in doublings (log2 of a ratio).
  struct Worst {
    float held = 0;      ///< How much longer than ever before a value has been held, at the window's end.
    float restless = 0;  ///< How much greater the mean surprise is than ever before.
  };
  /// The order of windows and the parameters are as for ExtraFrames::worst().
  Worst worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
              bool benign_only = false, int64_t dropped = 0);
  /// Bytes kept for this profile.
  static int64_t bytes(const BehaviourProfile& profile);
  /// Prepares for another recording.
  void reset() { cursor_.reset(); }

 private:
  // The last payloads of an ID.
  struct Seen {
    uint64_t last = 0;
    uint64_t before_last = 0;
    int32_t count = 0;
  };
  // How long a signal has held its value, and its last surprises.
  struct Track {
    uint32_t value = 0;
    int32_t held = 0;  // Number of frames.
    RecentSurprises surprises = {};
  };
  void begin(const BehaviourProfile& profile);
  void add(int64_t frame, int32_t id, uint64_t payload, const SignalModel& signals);

  FrameCursor cursor_;
  Vector<Seen, Tag::blocks> seen_;     // Indexed by ID.
  Vector<Track, Tag::blocks> tracks_;  // Indexed by signal.
  LoneIds held_;
  LoneIds restless_;
};

}  // namespace plimsoll
