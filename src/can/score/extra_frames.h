#pragma once

#include <array>

#include "can/profile/behaviour_profile.h"

namespace plimsoll {

/// Finds frames that an ID's sender did not send, by their times (can/profile/arrival_model.h). A frame that
/// comes too soon is left out of the times that later ones are compared with: so one added frame is one
/// event. Of it and the frame before, the event is the one that fits the ID's rhythm less: an added frame may
/// be shown by the real one after it alone, in the next window. So a window is judged when kLookAhead more
/// frames are there, or the recording has ended. Which of two senders is the ID's own is known from all that
/// came before: frames of a recording are read once, from its first to its last. Not thread-safe.
class ExtraFrames {
 public:
  static constexpr int64_t kLookAhead = 100;

  /// By how much frames come too soon where the window has one too many, in margins, the most there is: above
  /// 1 it has one; 0 for none. Windows come in ascending order and with the same profile; one that starts
  /// earlier reads its recording again. `frames` holds those since the window before, and kLookAhead after
  /// this one where the recording has them; `dropped` of the recording are not among them any more. With
  /// `benign_only`, frames labelled 1 are as if they were not there.
  float worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
              bool benign_only = false, int64_t dropped = 0);
  /// How many frames after a window worst() looks at, where the recording has them.
  static int64_t look_ahead(const BehaviourProfile& profile, const Recording& recording) {
    return recording.has_time && !profile.arrivals().empty() ? kLookAhead : 0;
  }
  /// Kept for a profile of so many IDs and windows of so many frames.
  static int64_t bytes(int64_t ids, int64_t window) {
    return ids * static_cast<int64_t>(sizeof(Seen)) +
           2 * (window + kLookAhead) * static_cast<int64_t>(sizeof(float));
  }
  /// What comes next is another recording.
  void reset() { recording_ = nullptr; }

 private:
  // Of one ID, since the recording began.
  struct Seen {
    static constexpr int kGaps = 8;
    int64_t count = 0;
    std::array<int64_t, kGaps> times{};  // of the frames that were its own, as a ring
    uint64_t payload = 0;                // of the last of them
    uint64_t before_event = 0;
    int32_t event_frames = 0;  // that may still come early, after the payload changed
    bool event = false;
    int64_t last_frame = 0;  // the last of its own
    int32_t left_out = 0;    // since that frame
    double last_excess = 0;  // of the last one left out

    int64_t span_from(int back, int64_t time_ns) const;
    // Whether a frame of this time fits the rhythm of those before the last one better than that does.
    bool fits_better(int64_t time_ns) const;
    // Puts a frame in place of the last of its own; gives that one.
    int64_t replace_last(int64_t time_ns, uint64_t its_payload, int64_t frame);
  };
  // What a frame shows, and which one of its ID came too soon then.
  struct Event {
    double excess;
    int64_t frame;
  };

  // Takes the next frame of the recording.
  void read(const FrameSpans& frames, const FrameKeys& keys, const BehaviourProfile& profile,
            bool benign_only, int64_t dropped);
  static Event take(const Arrival& arrival, Seen& seen, int64_t time_ns, uint64_t payload, int64_t frame);
  static double excess_of_still(Seen& seen, double excess, uint64_t payload);

  const Recording* recording_ = nullptr;
  Vector<Seen, Tag::blocks> seen_;     // by index of the ID
  Vector<float, Tag::blocks> excess_;  // of the frames from first_ on, up to next_
  int64_t first_ = 0;                  // frame of the last window
  int64_t next_ = 0;                   // to be read
};

}  // namespace plimsoll
