#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/file.h"
#include "store/frame_batch.h"

namespace plimsoll {

class FormatWriter;
struct WriterSetup;

/// A format that captures are written in, and what it holds beside data frames of classic CAN with IDs of 11
/// and 29 bits (docs/can-formats.md).
struct WrittenFormat {
  enum class Channels : uint8_t { none, numbers, words };

  const char* name;    ///< a word of `convert --to`
  const char* ending;  ///< of its files: ".blf"
  std::unique_ptr<FormatWriter> (*make)(const WriterSetup& setup);
  bool remote = true;  ///< holds remote frames
  bool error = true;
  bool error_details = true;  ///< what kind of error a frame tells
  bool fd = true;
  uint8_t flags = kFrameFlags;       ///< those it keeps
  uint8_t error_flags = kFrameSent;  ///< of error frames
  bool labels = false;
  Channels channels = Channels::numbers;
  uint32_t first_channel = 1;  ///< where those without a number of their own start
  uint32_t last_channel = 65535;
  int64_t tick_ns = 1;                          ///< times are multiples of it
  int64_t last_ns = 9'000'000'000'000'000'000;  ///< no time is later
  int64_t exact_ns = INT64_MAX;                 ///< times that are later than the start by more are rounded
  bool from_start = false;  ///< times count from that of the first frame, and none may be before it

  bool has_channels() const { return channels != Channels::none; }
};

std::span<const WrittenFormat> written_formats();
/// By its name. Errors: UsageError.
const WrittenFormat& written_format(const std::string& name);
/// The first one whose files end like `path`; null where there is none.
const WrittenFormat* format_of_ending(const std::filesystem::path& path);

/// What a format could not hold: counts of frames.
struct WriteLosses {
  int64_t labels = 0;
  int64_t flags = 0;          ///< direction, FD, BRS or ESI
  int64_t error_details = 0;  ///< of error frames
  int64_t rounded_times = 0;
  int64_t remote_frames = 0;  ///< left out, as WriteOptions::leave_out says
  int64_t error_frames = 0;
  int64_t fd_frames = 0;

  void add(const WriteLosses& other);
  Json to_json() const;      ///< only those that are not 0
  std::string text() const;  ///< "labels of 3 frames, 2 error frames"; empty where nothing was lost
};

/// Channels that have another name in the file than in their source.
using RenamedChannels = std::vector<std::pair<std::string, std::string>>;

struct WriteOptions {
  int64_t start_ns = 0;                     ///< the earliest time
  int64_t width = kPayloadBytes;            ///< of the frames
  bool labels = false;                      ///< in candump: a 0 or 1 after each frame
  std::vector<std::string> leave_out = {};  ///< "remote", "error", "fd": frames that may be missing
};

/// Writes the frames of a capture to a file, in the order they come, so that `ingest can` reads the same
/// frames again. Memory does not depend on how many there are: 0.3 to 1.3 MiB, in mf4 64 KiB for each kind of
/// frame of each channel beside that. Channels keep their names where the format can tell them; where it has
/// numbers, others get the lowest free one. Not thread-safe. Errors: Failure (disk), BudgetExceeded,
/// UsageError (options), InputError (a frame that the format cannot hold and that is not to be left out, a
/// second channel where it tells none, a time before 1970).
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
  RenamedChannels renamed_channels() const;

 private:
  struct Channel {
    std::string name;     // in the source
    std::string written;  // in the file
    uint32_t number;      // there, or its index
  };
  enum class Missing : uint8_t { remote, error, fd };

  const Channel& channel(const std::string& name);
  void add(const FrameSpans& frames, size_t i, const Channel& channel);
  bool holds(uint32_t can_id, bool fd);
  void count_lost(uint32_t can_id, uint8_t flags, uint8_t label);
  [[noreturn]] void refuse_kind(uint32_t can_id, Missing missing) const;

  WrittenFormat format_;
  std::vector<std::string> leave_out_;
  int64_t start_ns_;
  std::unique_ptr<FormatWriter> writer_;
  std::vector<std::unique_ptr<Channel>> channels_;
  WriteLosses losses_;
};

}  // namespace plimsoll
