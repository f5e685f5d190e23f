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

/// A format that captures are written in, and what it holds beside data frames with IDs of 11 and 29 bits
/// (docs/can-formats.md). Times are whole ns.
struct WrittenFormat {
  const char* name;    ///< a word of `convert --to`
  const char* ending;  ///< of its files: ".log"
  std::unique_ptr<TextWriter> (*make)(File& file, bool labels);
  bool remote = true;  ///< holds remote frames
  bool error = true;
  uint8_t flags = kFrameFlags;  ///< those it keeps
  bool labels = false;
  bool channels = true;
};

/// By its name. Errors: UsageError that says what makes another format.
const WrittenFormat& written_format(const std::string& name);
/// The one whose files end like `path`; null where the ending tells no format. Errors: UsageError where it
/// tells one that is only read, with what makes it.
const WrittenFormat* format_of_ending(const std::filesystem::path& path);

/// What a format could not hold: counts of frames.
struct WriteLosses {
  int64_t labels = 0;
  int64_t flags = 0;          ///< direction, FD, BRS or ESI
  int64_t remote_frames = 0;  ///< left out, as WriteOptions::leave_out says
  int64_t error_frames = 0;

  void add(const WriteLosses& other);
  Json to_json() const;      ///< only those that are not 0
  std::string text() const;  ///< "labels of 3 frames, 2 error frames"; empty where nothing was lost
};

struct WriteOptions {
  bool labels = false;                      ///< in candump: a 0 or 1 after each frame
  std::vector<std::string> leave_out = {};  ///< "remote", "error": frames that may be missing
};

/// Writes the frames of a capture to a file, in the order they come, so that `ingest can` reads the same
/// frames again. Memory, 0.3 MiB, does not depend on how many there are. Channels keep their names. Not
/// thread-safe. Errors: Failure (disk), BudgetExceeded, UsageError (options), InputError (a frame that the
/// format cannot hold and that is not to be left out, a second channel where it tells none, a time before
/// 1970).
class CaptureWriter {
 public:
  /// `file` outlives the writer; the caller syncs it.
  CaptureWriter(const WrittenFormat& format, File& file, const WriteOptions& options);
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  void append(const FrameBatch& frames);
  /// Frames of one channel; an empty name: the source tells none.
  void append(const FrameSpans& frames, const std::string& channel);
  /// Writes the rest. Nothing may be appended after.
  void finish();

  const WriteLosses& losses() const { return losses_; }

 private:
  struct Channel {
    std::string name;     // in the source
    std::string written;  // in the file
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
