#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "can/frames/frame_batch.h"
#include "io/file.h"

namespace plimsoll {

/// Frames of one channel of a capture with several, kept on the disk until the channels before it are
/// written: a data set holds one recording after the other. Not thread-safe. Errors: Failure (the disk).
class ChannelSpill {
 public:
  /// `beside`: a path on the disk that the frames go to; the file has no name of its own there.
  ChannelSpill(std::filesystem::path beside, int64_t width) : beside_(std::move(beside)) {
    waiting_.width = width;
  }

  void add(const FrameSpans& frames);
  /// Gives all frames back, in order and in pieces; then it is empty.
  void take(const std::function<void(const FrameSpans&)>& piece);

 private:
  void write();

  std::filesystem::path beside_;
  std::optional<File> file_;
  FrameBatch waiting_;
  std::vector<size_t> pieces_;  // frames of each that was written
};

}  // namespace plimsoll
