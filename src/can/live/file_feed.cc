#include <exception>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "can/capture/frame_reader.h"
#include "can/live/frame_feed.h"

namespace plimsoll {
namespace {

constexpr size_t kFramesAtOnce = 512;

/// Frames of a binary capture.
class ReaderFeed : public FrameFeed {
 public:
  ReaderFeed(std::unique_ptr<FrameReader> reader, const FeedOptions& options)
      : reader_(std::move(reader)), options_(options) {}

  bool read(FrameBatch& frames) override {
    frames.width = options_.format.payload;
    frames.clear();
    LineNotes notes;
    while (frames.frames() == 0 && more_ && !(options_.stop != nullptr && *options_.stop)) {
      if (damage_) std::rethrow_exception(damage_);
      read_some(frames, notes);
    }
    arrived_ = std::chrono::steady_clock::now();
    losses_.other_channels += notes.other_channels;
    losses_.other_records += notes.other_records;
    losses_.stray_bytes += notes.stray_bytes;
    losses_.truncation = reader_->truncation();
    return frames.frames() > 0;
  }

  std::chrono::steady_clock::time_point arrived() const override { return arrived_; }
  StreamFacts facts() const override { return {true, true, options_.format.payload}; }
  const FeedLosses& losses() const override { return losses_; }

 private:
  // Frames before the damage are returned before the error.
  void read_some(FrameBatch& frames, LineNotes& notes) {
    try {
      more_ = reader_->read(kFramesAtOnce, frames, notes);
    } catch (const InputError&) {
      if (frames.frames() == 0) throw;
      damage_ = std::current_exception();
    }
  }

  std::unique_ptr<FrameReader> reader_;
  FeedOptions options_;
  std::chrono::steady_clock::time_point arrived_;
  FeedLosses losses_;
  bool more_ = true;
  std::exception_ptr damage_;
};

}  // namespace

std::unique_ptr<FrameFeed> open_capture_feed(const std::string& source, const FeedOptions& options) {
  if (!is_standard_input(source) && std::filesystem::is_regular_file(source)) {
    auto stream = InputStream::open(source, options.format.refuse_truncated ? AtCut::fail : AtCut::stop);
    if (auto reader = FrameReader::open(source, options.format, stream))
      return std::make_unique<ReaderFeed>(std::move(reader), options);
  }
  return open_text_feed(source, options);
}

}  // namespace plimsoll
