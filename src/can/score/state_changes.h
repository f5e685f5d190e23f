#pragma once

#include <array>
#include <optional>

#include "can/profile/behaviour_profile.h"
#include "can/score/frame_cursor.h"

namespace plimsoll {

/// Tells an ID that the car has turned off from one that someone suppresses. When a car changes its state, as
/// when it is switched off, bits that never changed do so in the payloads of many IDs at once. An ID whose
/// last frame falls into such a moment is not missed any more, until it is heard again. Frames of a recording
/// are read once, from its first to its last. Not thread-safe.
class StateChanges {
 public:
  /// IDs that change bits for the first time, others than the silent one.
  static constexpr int64_t kFewestIds = 8;
  /// After an ID's last frame; its longest gap, if that is longer.
  static constexpr int64_t kMoment = 250'000'000;  ///< ns

  /// The statistic `silence` of a window without the IDs that were turned off; nothing if there are none.
  /// Windows come as those of ExtraFrames.
  std::optional<float> silence(const FrameSpans& frames, const FrameWindow& window,
                               const BehaviourProfile& profile, bool benign_only = false,
                               int64_t dropped = 0);
  /// Kept for a profile of so many IDs.
  static int64_t bytes(int64_t ids) { return ids * static_cast<int64_t>(sizeof(Seen)); }
  /// What comes next is another recording.
  void reset() { cursor_.reset(); }

 private:
  // Of an ID.
  struct Seen {
    uint64_t fixed = 0;    // bits that never changed, the first byte lowest
    uint64_t payload = 0;  // of its last frame
    int64_t last_at = -1;
    int64_t last_ns = 0;
    bool off = false;  // since then
  };
  struct Change {
    int64_t time_ns = 0;
    int32_t id = -1;
  };
  static constexpr size_t kChanges = 256;  // kept
  void begin(const BehaviourProfile& profile);
  void add(int64_t frame, int32_t id, int64_t time_ns, uint64_t payload);
  bool was_turned_off(int32_t id, const BehaviourProfile& profile) const;

  FrameCursor cursor_;
  Vector<Seen, Tag::blocks> seen_;          // by index of the ID
  std::array<Change, kChanges> changes_{};  // the last first ones, as a ring
  size_t changed_ = 0;                      // in all
};

}  // namespace plimsoll
