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

/// What did not come through.
struct FeedLosses {
  int64_t lines = 0;                        ///< malformed, left out
  std::map<std::string, int64_t> expected;  ///< the same by what was expected
  int64_t other_channels = 0;               ///< frames of another channel than --channel, left out
  int64_t other_records = 0;                ///< of a capture that is no text: what is no frame, left out
  int64_t stray_bytes = 0;                  ///< the same: bytes between its records, left out
  std::optional<Truncation> truncation;     ///< where the capture is cut off; known at its end
  int64_t frames = 0;                       ///< that the system dropped: read too late
};

/// Frames as they come, from wherever. Not thread-safe.
class FrameFeed {
 public:
  virtual ~FrameFeed() = default;

  /// Replaces `frames` by those that are there, with their channels where the source tells them, waiting for
  /// at least one; of interfaces, for a tick at most. False at the end, or when the flag is set that it was
  /// made with. Errors: InputError (a capture of no known format, damaged compressed data, with `strict` a
  /// malformed line), Failure.
  virtual bool read(FrameBatch& frames) = 0;
  /// When the system gave the last of these frames: a window's latency counts from here.
  virtual std::chrono::steady_clock::time_point arrived() const = 0;
  /// What is known of the frames; once read() was true.
  virtual StreamFacts facts() const = 0;
  virtual const FeedLosses& losses() const = 0;
};

struct FeedOptions {
  FormatOptions format;
  bool strict = false;  ///< a malformed line is an error, not a loss
  const std::atomic<bool>* stop = nullptr;
  int64_t tick_ns = 0;  ///< of interfaces: how long to wait for a frame; 0: until one comes
};

/// One capture, named pipe or "-", as open_capture_feed(), or interfaces, as open_can_feed(). Errors: theirs;
/// UsageError for several sources that are not all interfaces.
std::unique_ptr<FrameFeed> open_feed(const std::vector<std::string>& sources, const FeedOptions& options);

/// A capture in any format: as open_text_feed(), and files that are no text. Errors: InputError.
std::unique_ptr<FrameFeed> open_capture_feed(const std::string& source, const FeedOptions& options);

/// Lines of a capture: a file, perhaps .zst or .gz, a named pipe, or standard input as "-". A first line that
/// is damaged, as of a stream that is joined, is lost as any other. Errors: InputError.
std::unique_ptr<FrameFeed> open_text_feed(const std::string& source, const FeedOptions& options);

/// SocketCAN interfaces, such as "can0" or "vcan0": all their frames, CAN FD as well, with the kernel's times
/// and in the order of arrival; the interface is the channel.
/// Errors: Failure with the reason and the remedy where the system has no such sockets, or no such interface;
/// UsageError for a payload that is neither 8 nor 64.
std::unique_ptr<FrameFeed> open_can_feed(const std::vector<std::string>& interfaces,
                                         const FeedOptions& options);

/// Whether the system has a network interface of this name.
bool is_interface(const std::string& name);

}  // namespace plimsoll
