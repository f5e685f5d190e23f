#pragma once

#include <array>

#include "can/profile/behaviour_profile.h"

namespace plimsoll {

/// Finds frames that an ID's sender did not send, by their times (can/profile/arrival_model.h). A frame that
/// comes too soon is excluded from the times that later frames are compared with, so that one added frame is
/// one event. The event is assigned to the frame that fits the ID's rhythm less: this one or the one before
/// it. An added frame may be revealed only by the real frame after it, which may be in the next window; a
/// window is therefore evaluated when kLookAhead more frames have arrived, or the recording has ended. All
/// earlier frames of a recording decide which of two senders is the ID's own, so the frames are read once,
/// from first to last. Not thread-safe.
class ExtraFrames {
 public:
  static constexpr int64_t kLookAhead = 100;

  /// The maximum by which frames of the window come too soon (Arrival::Bound::excess()): above 1 the window
  /// has an extra frame; 0 if none comes too soon. Pass windows in ascending order and with the same profile;
  /// after a window that starts earlier than the previous one, the recording is read again. `frames` holds
  /// all frames since the previous window, and kLookAhead frames after this one if the recording has them; it
  /// no longer holds the first `dropped` frames of the recording. window.first is an index in `frames`. With
  /// `benign_only`, frames labelled 1 are ignored.
  float worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
              bool benign_only = false, int64_t dropped = 0);
  /// Number of frames after a window that worst() looks at, if the recording has them.
  static int64_t look_ahead(const BehaviourProfile& profile, const Recording& recording) {
    return recording.has_time && !profile.arrivals().empty() ? kLookAhead : 0;
  }
  /// Bytes kept for a profile of `ids` IDs and windows of `window` frames.
  static int64_t bytes(int64_t ids, int64_t window) {
    return ids * static_cast<int64_t>(sizeof(Seen)) +
           2 * (window + kLookAhead) * static_cast<int64_t>(sizeof(float));
  }
  /// Prepares for another recording. Needed only if its Recording has the address of the previous one.
  void reset() { recording_ = nullptr; }

 private:
  // The state of one ID since the start of the recording.
  struct Seen {
    static constexpr int kGaps = 8;
    int64_t count = 0;
    std::array<int64_t, kGaps> times{};  // Times of the ID's own frames, as a ring.
    uint64_t payload = 0;                // Payload of the ID's last own frame.
    uint64_t before_event = 0;
    int32_t event_frames = 0;  // Number of frames that may still come early after the payload changed.
    bool event = false;
    int64_t last_frame = 0;  // The ID's last own frame.
    int32_t left_out = 0;    // Number of frames left out since `last_frame`.
    double last_excess = 0;  // Excess of the last frame left out.

    int64_t span_from(int back, int64_t time_ns) const;
    // Whether a frame with this time fits the rhythm of the earlier frames better than the last own frame
    // does.
    bool fits_better(int64_t time_ns) const;
    // Replaces the ID's last own frame with this one; returns the replaced frame.
    int64_t replace_last(int64_t time_ns, uint64_t new_payload, int64_t frame);
  };
  // The excess that a frame reveals, and the frame of its ID that came too soon.
  struct Event {
    double excess;
    int64_t frame;
  };

  // Reads the next frame of the recording.
  void read(const FrameSpans& frames, const FrameKeys& keys, const BehaviourProfile& profile,
            bool benign_only, int64_t dropped);
  static Event take(const Arrival& arrival, Seen& seen, int64_t time_ns, uint64_t payload, int64_t frame);
  static double excess_of_still(Seen& seen, double excess, uint64_t payload);

  const Recording* recording_ = nullptr;
  Vector<Seen, Tag::blocks> seen_;     // Indexed by ID.
  Vector<float, Tag::blocks> excess_;  // Excess of the frames from first_ up to next_.
  int64_t first_ = 0;                  // First frame of the last window.
  int64_t next_ = 0;                   // Next frame to read.
};

}  // namespace plimsoll
