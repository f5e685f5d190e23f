#pragma once

#include <algorithm>

#include "can/profile/behaviour_profile.h"

namespace plimsoll {

/// How far a judge of windows has read: frames of a recording are read once, from its first to its last. Not
/// thread-safe.
class FrameCursor {
 public:
  /// Calls read(frame, id, place in `frames`) for the frames up to the end of the window that were not read,
  /// with the index of their ID in the vocabulary; frames of other IDs are passed over, and with
  /// `benign_only` those labelled 1. begin() comes before it where the window is of another recording, or
  /// starts earlier than the one before. `frames` holds those since the window before; `dropped` of the
  /// recording are not among them any more.
  template <typename Begin, typename Read>
  void advance(const FrameSpans& frames, const FrameWindow& window, const Vocabulary& vocabulary,
               bool benign_only, int64_t dropped, const Begin& begin, const Read& read) {
    const int64_t first = window.first + dropped;
    if (recording_ != window.recording || first < first_) {
      recording_ = window.recording;
      next_ = recording_->first_frame;
      begin();
    }
    first_ = first;
    const FrameKeys keys = vocabulary.keys(frames, *window.recording);
    for (next_ = std::max(next_, dropped); next_ < first + window.count; ++next_) {
      const auto at = static_cast<size_t>(next_ - dropped);
      const int32_t id = vocabulary.index(keys[at]);
      if (id != vocabulary.size() && !(benign_only && frames.label[at] == 1)) read(next_, id, at);
    }
  }
  /// What comes next is another recording.
  void reset() { recording_ = nullptr; }

 private:
  const Recording* recording_ = nullptr;
  int64_t first_ = 0;  // frame of the last window
  int64_t next_ = 0;   // to be read
};

}  // namespace plimsoll
