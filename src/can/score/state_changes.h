#pragma once

#include <array>
#include <optional>

#include "can/profile/behaviour_profile.h"
#include "can/score/frame_cursor.h"

namespace plimsoll {

/// Distinguishes an ID that the car has turned off from one that someone suppresses. When a car changes its
/// state, for example when it is switched off, bits that never changed before change in the payloads of many
/// IDs at once. An ID whose last frame falls into such a moment is not considered missing until it is heard
/// again. Frames of a recording are read once, from its first to its last. Not thread-safe.
class StateChanges {
 public:
  /// Minimum number of IDs, other than the silent one, that change bits for the first time.
  static constexpr int64_t kMinIds = 8;
  /// Length of the moment after an ID's last frame, unless the ID's longest gap is longer.
  static constexpr int64_t kMoment = 250'000'000;  ///< Nanoseconds.

  /// The statistic `silence` of a window without the IDs that were turned off, at most kMaxUnits doublings;
  /// none if no ID was turned off, or if times, payloads or arrivals are not known. The order of windows and
  /// the parameters are as for ExtraFrames::worst().
  std::optional<float> silence(const FrameSpans& frames, const FrameWindow& window,
                               const BehaviourProfile& profile, bool benign_only = false,
                               int64_t dropped = 0);
  /// Bytes kept for a profile of `ids` IDs.
  static int64_t bytes(int64_t ids) { return ids * static_cast<int64_t>(sizeof(Seen)); }
  /// Prepares for another recording.
  void reset() { cursor_.reset(); }

 private:
  // The state of an ID.
  struct Seen {
    uint64_t fixed = 0;    // Bits that never changed; the first byte is the lowest.
    uint64_t payload = 0;  // Payload of its last frame.
    int64_t last_at = -1;
    int64_t last_ns = 0;
    bool off = false;  // Whether the ID has been turned off since its last frame.
  };
  struct Change {
    int64_t time_ns = 0;
    int32_t id = -1;
  };
  static constexpr size_t kChanges = 256;  // Number of changes kept.
  void begin(const BehaviourProfile& profile);
  void add(int64_t frame, int32_t id, int64_t time_ns, uint64_t payload);
  bool was_turned_off(int32_t id, const BehaviourProfile& profile) const;

  FrameCursor cursor_;
  Vector<Seen, Tag::blocks> seen_;          // Indexed by ID.
  std::array<Change, kChanges> changes_{};  // The latest first-time changes, as a ring.
  size_t changed_ = 0;                      // Number of changes so far.
};

}  // namespace plimsoll
