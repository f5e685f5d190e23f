#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "can/capture/capture_format.h"
#include "can/capture/truncation.h"
#include "can/windows/window_stream.h"

namespace plimsoll {

/// Input that was lost or skipped.
struct FeedLosses {
  int64_t lines = 0;  ///< Skipped malformed lines, and skipped frames of interfaces with too long a payload.
  std::map<std::string, int64_t> expected;  ///< The number `lines`, by what was expected.
  int64_t other_channels = 0;               ///< Skipped frames of channels other than --channel.
  int64_t other_records = 0;                ///< Skipped records of a binary capture that are not frames.
  int64_t stray_bytes = 0;                  ///< Skipped bytes between the records of a binary capture.
  std::optional<Truncation> truncation;     ///< Where the capture is cut off; known at its end.
  int64_t frames = 0;  ///< Frames that the system dropped because they were read too late.
};

/// Frames as they arrive from any source. Not thread-safe.
class FrameFeed {
 public:
  virtual ~FrameFeed() = default;

  /// Replaces the contents of `frames` with the available frames, and their channels if the source records
  /// them. Waits until there is at least one frame or, on interfaces, until a tick has passed: `frames` is
  /// then empty. Returns false at the end, or when the stop flag is set. Throws InputError for a capture of
  /// no known format, for a damaged binary or compressed capture and, with `strict`, for a malformed line or
  /// a frame that is too long; also UsageError for options that do not fit the format, Failure and
  /// BudgetExceeded.
  virtual bool read(FrameBatch& frames) = 0;
  /// The time at which the system delivered the last of these frames. A window's latency is counted from this
  /// time.
  virtual std::chrono::steady_clock::time_point arrived() const = 0;
  /// Properties of the frames; valid once read() has returned true.
  virtual StreamFacts facts() const = 0;
  /// Losses so far.
  virtual const FeedLosses& losses() const = 0;
};

struct FeedOptions {
  FormatOptions format;
  bool strict = false;                      ///< A malformed line is an error, not a loss.
  const std::atomic<bool>* stop = nullptr;  ///< Set it to end the feed. May be null.
  int64_t tick_ns = 0;  ///< Maximum time to wait for a frame of an interface; 0: until one arrives.
};

/// Whether a source is "-".
inline bool is_standard_input(const std::string& source) {
  return source == "-";
}

/// Opens one capture, named pipe or "-" as open_capture_feed() does, or one or more interfaces as
/// open_can_feed() does. A payload of kChosenPayload becomes 64; the other functions need 8 or 64. Errors:
/// UsageError for several sources that are not all interfaces; the errors of both functions.
std::unique_ptr<FrameFeed> open_feed(const std::vector<std::string>& sources, const FeedOptions& options);

/// Opens a capture in any format: text as open_text_feed() does, and binary formats. Errors: InputError.
std::unique_ptr<FrameFeed> open_capture_feed(const std::string& source, const FeedOptions& options);

/// Opens a text capture: a file, which may be .zst or .gz, a named pipe, or standard input as "-". A damaged
/// first line, as in a stream that is joined midway, is skipped like any other. Errors: InputError.
std::unique_ptr<FrameFeed> open_text_feed(const std::string& source, const FeedOptions& options);

/// Opens SocketCAN interfaces, such as "can0" or "vcan0": all their frames including CAN FD, with the
/// kernel's times and in the order of arrival; the interface is the channel. Errors: Failure with the reason
/// and the remedy if the system has no such sockets, or no such interface; UsageError for a payload that is
/// neither 8 nor 64.
std::unique_ptr<FrameFeed> open_can_feed(const std::vector<std::string>& interfaces,
                                         const FeedOptions& options);

/// Whether the system has a network interface of this name.
bool is_interface(const std::string& name);

}  // namespace plimsoll
