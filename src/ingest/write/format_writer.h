#pragma once

#include <memory>
#include <string_view>

#include "io/file.h"
#include "store/frames.h"

namespace plimsoll {

/// A frame on its way to a file, checked: its format can hold it.
struct OutgoingFrame {
  int64_t time_ns;
  uint32_t can_id;  ///< with SocketCAN's flags
  const uint8_t* data;
  uint8_t length;
  uint8_t flags;  ///< kFrame...
  uint8_t label;
  uint32_t channel;               ///< its number, or where it has none its index
  std::string_view channel_name;  ///< valid as long as the writer

  bool is_error() const { return (can_id & kCanError) != 0; }
  bool is_remote() const { return (can_id & kCanRemote) != 0; }
  bool is_extended() const { return (can_id & (kCanExtended | kCanError)) == kCanExtended; }
  bool is_sent() const { return (flags & kFrameSent) != 0; }
  bool is_fd() const { return is_fd(flags, length); }
  uint32_t id() const { return can_id & 0x1FFFFFFF; }
  /// The DLC of its length, or of the next longer one that CAN FD has.
  uint8_t dlc() const;

  /// A payload over 8 bytes is CAN FD, told or not.
  static bool is_fd(uint8_t flags, uint8_t length) {
    return (flags & kFrameFd) != 0 || length > kPayloadBytes;
  }
};

/// Writes frames in one format; CaptureWriter stands before it. Errors: Failure, BudgetExceeded.
class FormatWriter {
 public:
  virtual ~FormatWriter() = default;
  virtual void add(const OutgoingFrame& frame) = 0;
  /// Writes the rest.
  virtual void finish() = 0;
};

/// What a writer needs to know beforehand.
struct WriterSetup {
  File& file;        ///< empty; the caller syncs it
  int64_t start_ns;  ///< a whole ms, not after the first frame
  int64_t width;     ///< the most bytes of a payload: 8 or 64
  bool labels;       ///< in candump: after each frame
};

// One file a format.

std::unique_ptr<FormatWriter> write_csv(const WriterSetup& setup);
std::unique_ptr<FormatWriter> write_candump(const WriterSetup& setup);
std::unique_ptr<FormatWriter> write_asc(const WriterSetup& setup);
std::unique_ptr<FormatWriter> write_trc(const WriterSetup& setup);
std::unique_ptr<FormatWriter> write_gvret(const WriterSetup& setup);
std::unique_ptr<FormatWriter> write_python_can(const WriterSetup& setup);
std::unique_ptr<FormatWriter> write_blf(const WriterSetup& setup);
std::unique_ptr<FormatWriter> write_pcapng(const WriterSetup& setup);
std::unique_ptr<FormatWriter> write_sqlite(const WriterSetup& setup);
std::unique_ptr<FormatWriter> write_mf4(const WriterSetup& setup);

}  // namespace plimsoll
