#pragma once

#include <algorithm>

#include "can/profile/behaviour_profile.h"

namespace plimsoll {

/// The position up to which windows have been read: frames of a recording are read once, from its first to
/// its last. Not thread-safe.
class FrameCursor {
 public:
  /// Calls read(frame, ID's index in the vocabulary, index in `frames`) for all frames up to the end of the
  /// window that have not been read. Skips frames whose ID is not in the vocabulary and, with `benign_only`,
  /// frames labelled 1. Calls begin() first if the window belongs to another recording or starts earlier than
  /// the previous one. `frames` holds all frames since the previous window; it no longer holds the first
  /// `dropped` frames of the recording.
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
  /// Prepares for another recording.
  void reset() { recording_ = nullptr; }

 private:
  const Recording* recording_ = nullptr;
  int64_t first_ = 0;  // First frame of the last window.
  int64_t next_ = 0;   // Next frame to read.
};

}  // namespace plimsoll
