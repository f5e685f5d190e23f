#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "can/frames/frame_batch.h"
#include "io/file.h"

namespace plimsoll {

/// Keeps the frames of one channel of a capture on disk until the channels before it have been written,
/// because a data set holds one recording after the other. Not thread-safe. Throws Failure if the disk cannot
/// be used, and BudgetExceeded.
class ChannelSpill {
 public:
  /// Frames of `width` payload bytes are stored in an unlinked file, which is created next to the path
  /// `beside` once they no longer fit in a small buffer.
  ChannelSpill(std::filesystem::path beside, int64_t width) : beside_(std::move(beside)) {
    waiting_.width = width;
  }

  /// Appends frames of the width given to the constructor. Their channel numbers must be absent.
  void add(const FrameSpans& frames);
  /// Passes all frames to `on_chunk` in order, in several calls, and clears the spill. A view is valid only
  /// during its call.
  void take(const std::function<void(const FrameSpans&)>& on_chunk);

 private:
  void write();

  std::filesystem::path beside_;
  std::optional<File> file_;
  FrameBatch waiting_;
  std::vector<size_t> chunks_;  // Number of frames of each chunk written to the file.
};

}  // namespace plimsoll
