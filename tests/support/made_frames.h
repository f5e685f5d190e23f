#pragma once

#include <string>
#include <vector>

#include "base/hash.h"
#include "can/simulate/frame_source.h"

namespace plimsoll {

/// Returns the next frames of a source, at most `count`.
inline std::vector<CanFrame> take(FrameSource& source, size_t count) {
  std::vector<CanFrame> frames;
  for (CanFrame frame; frames.size() < count && source.next(frame);) frames.push_back(frame);
  return frames;
}

/// Frames from a list.
class MadeFrames : public FrameSource {
 public:
  explicit MadeFrames(std::vector<CanFrame> frames) : frames_(std::move(frames)) {}
  bool next(CanFrame& frame) override {
    if (at_ == frames_.size()) return false;
    frame = frames_[at_++];
    return true;
  }

 private:
  std::vector<CanFrame> frames_;
  size_t at_ = 0;
};

/// Returns XXH3-64 of the whole content of the frames.
inline std::string hash_of(const std::vector<CanFrame>& frames) {
  Hasher hasher;
  for (const CanFrame& frame : frames) {
    hasher.add(&frame.time_ns, sizeof frame.time_ns);
    hasher.add(&frame.data, sizeof frame.data);
    hasher.add(&frame.can_id, sizeof frame.can_id);
    hasher.add(&frame.length, 1);
    hasher.add(&frame.label, 1);
  }
  return hasher.hex64();
}

}  // namespace plimsoll
