#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "can/frames/frame_batch.h"
#include "io/file.h"

namespace plimsoll {

/// Stores the frames of one channel of a capture with several on disk until the channels before it are
/// written, because a data set holds one recording after the other. Not thread-safe. Throws Failure if the
/// disk cannot be used.
class ChannelSpill {
 public:
  /// `beside` is a path on the disk that is to hold the frames: an unlinked file is created next to it.
  ChannelSpill(std::filesystem::path beside, int64_t width) : beside_(std::move(beside)) {
    waiting_.width = width;
  }

  void add(const FrameSpans& frames);
  /// Passes all frames to `piece` in order, in several calls, and clears the spill.
  void take(const std::function<void(const FrameSpans&)>& piece);

 private:
  void write();

  std::filesystem::path beside_;
  std::optional<File> file_;
  FrameBatch waiting_;
  std::vector<size_t> pieces_;  // Number of frames of each part written to the file.
};

}  // namespace plimsoll
