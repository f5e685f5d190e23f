#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "can/frames/frames.h"
#include "can/write/capture_writer.h"
#include "io/new_folder.h"

namespace plimsoll {

/// Receives recordings one after the other: begin(), append() any number of times, end(). The output appears
/// as a whole on publish(); without it the destructor removes what was written. Not thread-safe. Its
/// functions throw Failure if the disk cannot be used or the output exists and may not be replaced,
/// InputError for frames that the output cannot hold, and BudgetExceeded.
class RecordingSink {
 public:
  virtual ~RecordingSink() = default;
  virtual void begin(const Recording& recording) = 0;
  virtual void append(const FrameSpans& frames) = 0;
  virtual void end(const Recording& recording) = 0;
  virtual void publish() = 0;
};

/// Writes a `frames` set.
class FramesSink : public RecordingSink {
 public:
  FramesSink(const std::filesystem::path& out, bool force, Json provenance)
      : writer_(out, force), provenance_(std::move(provenance)) {}

  void begin(const Recording&) override {}
  void append(const FrameSpans& frames) override { writer_.append(frames); }
  void end(const Recording& recording) override { writer_.end_recording(recording); }
  void publish() override { writer_.publish(std::move(provenance_)); }

 private:
  FramesWriter writer_;
  Json provenance_;
};

/// Writes a folder of captures, SPLIT/NAME.csv or SPLIT/NAME.log. Frames get no channel, and candump files
/// have no labels.
class CaptureSink : public RecordingSink {
 public:
  /// `format` is csv or candump and must outlive this object.
  CaptureSink(const std::filesystem::path& out, bool force, const WrittenFormat& format,
              FileSystem& files = FileSystem::disk())
      : folder_(out, force, files), format_(format) {}
  /// The path of a recording in the folder.
  static std::filesystem::path file_of(const std::string& split, const std::string& name,
                                       const WrittenFormat& format) {
    return std::filesystem::path(split) / (name + format.ending);
  }

  void begin(const Recording& recording) override;
  void append(const FrameSpans& frames) override { writer_->append(frames, ""); }
  void end(const Recording& recording) override;
  void publish() override { folder_.publish(); }

 private:
  NewFolder folder_;
  const WrittenFormat& format_;
  // State of the current recording.
  std::optional<File> file_;
  std::unique_ptr<CaptureWriter> writer_;
};

}  // namespace plimsoll
