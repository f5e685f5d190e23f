#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "can/frames/frame_batch.h"
#include "io/file.h"

namespace plimsoll {

class TextWriter;

/// A format in which captures are written, and the features that it has beyond data frames with 11-bit and
/// 29-bit IDs (docs/can-formats.md). Times are whole nanoseconds.
struct WrittenFormat {
  const char* name;    ///< Name for `convert --to`.
  const char* ending;  ///< File name ending: ".log".
  std::unique_ptr<TextWriter> (*make)(File& file, bool labels);
  bool remote = true;  ///< The format holds remote frames.
  bool error = true;
  uint8_t flags = kFrameFlags;   ///< Flags that the format keeps.
  bool labels = false;           ///< The format needs a label of each frame.
  bool optional_labels = false;  ///< A capture has labels for all frames or for none.
  bool channels = true;
};

/// The format with this name. Errors: UsageError that names a tool for other formats.
const WrittenFormat& written_format(const std::string& name);
/// The format whose file name ending `path` has; null if the ending belongs to no format. Errors: UsageError
/// for a format that is only read, which names a tool that writes it.
const WrittenFormat* format_of_ending(const std::filesystem::path& path);

/// Numbers of frames whose contents a format could not hold.
struct WriteLosses {
  int64_t labels = 0;
  int64_t flags = 0;          ///< Frames that lost their direction, FD, BRS or ESI.
  int64_t remote_frames = 0;  ///< Frames left out by WriteOptions::leave_out.
  int64_t error_frames = 0;

  void add(const WriteLosses& other);
  Json to_json() const;      ///< The counts that are not 0.
  std::string text() const;  ///< "labels of 3 frames, 2 error frames"; empty if nothing was lost.
};

struct WriteOptions {
  /// In candump, write a 0 or 1 after each frame, in place of its direction. All frames must have labels.
  bool labels = false;
  std::vector<std::string> leave_out = {};  ///< Kinds of frames that may be left out: "remote", "error".
};

/// Writes the frames of a capture to a file in the given order, so that `ingest can` reads the same frames
/// again, except for what losses() counts. Needs 0.3 MiB for any number of frames. Channels keep their names;
/// in candump, frames without a channel get the channel vcan0. Not thread-safe. Throws Failure if the disk
/// cannot be used; UsageError for wrong options; BudgetExceeded; and InputError for a frame that the format
/// cannot hold and that may not be left out, for a frame without a label that it needs, for a second channel
/// in a format without channels or a name that a channel cannot have, and for a time before 1970 or after
/// 2255. After an error the file holds a part of the frames.
class CaptureWriter {
 public:
  /// `file` must outlive the writer. The caller syncs it.
  CaptureWriter(const WrittenFormat& format, File& file, const WriteOptions& options);
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  /// Appends frames with their own channels, if they have any.
  void append(const FrameBatch& frames);
  /// Appends frames of one channel. The name is empty if the source does not record channels.
  void append(const FrameSpans& frames, const std::string& channel);
  /// Writes what is still in memory; without this call the last frames are lost. Nothing may be appended
  /// after it.
  void finish();

  const WriteLosses& losses() const { return losses_; }

 private:
  struct Channel {
    std::string name;     // Name in the source.
    std::string written;  // Name in the file.
  };

  const Channel& channel(const std::string& name);
  void add(const FrameSpans& frames, size_t i, const Channel& channel);
  bool holds(uint32_t can_id);
  [[noreturn]] void refuse_kind(uint32_t can_id, const char* kind) const;

  WrittenFormat format_;
  std::vector<std::string> leave_out_;
  std::unique_ptr<TextWriter> writer_;
  std::vector<std::unique_ptr<Channel>> channels_;
  WriteLosses losses_;
};

}  // namespace plimsoll
