#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "can/capture/capture_format.h"
#include "can/capture/truncation.h"
#include "io/input_stream.h"
#include "memory/charge.h"

namespace plimsoll {

/// A stream whose first bytes can be inspected before reading. Not thread-safe.
class PeekedStream : public InputStream {
 public:
  /// Reads the first bytes. Errors: those of InputStream::read().
  explicit PeekedStream(std::unique_ptr<InputStream> stream) : stream_(std::move(stream)) {
    held_ = stream_->read(head_, sizeof head_);
  }
  /// The first 64 bytes, or fewer if the stream is shorter.
  std::string_view head() const { return {head_, held_}; }
  size_t read(char* data, size_t bytes) override;
  int64_t bytes_read() const override { return stream_->bytes_read(); }
  std::string source_hash() const override { return stream_->source_hash(); }
  bool is_cut_off() const override { return stream_->is_cut_off(); }

 private:
  std::unique_ptr<InputStream> stream_;
  char head_[64];
  size_t held_ = 0;
  size_t given_ = 0;
};

/// One frame of a binary capture.
struct RawFrame {
  int64_t time_ns = 0;
  uint32_t can_id = 0;            ///< CAN ID with SocketCAN's flags.
  uint32_t channel = 0;           ///< Number of the channel in the file.
  const uint8_t* data = nullptr;  ///< The payload, `length` bytes. Not owned.
  size_t length = 0;
  uint8_t flags = 0;  ///< Bits kFrame*.
};

/// Collects the frames of all channels, or of the channel given by --channel. Not thread-safe.
class FrameTaker {
 public:
  FrameTaker(const FormatOptions& options, std::string file) : options_(options), file_(std::move(file)) {}

  /// Appends a frame, or counts it as a frame of another channel. `position` is the byte of the file that
  /// error texts name. Errors: InputError for a time before 1970, a payload longer than out.width
  /// (PayloadTooLong if that is 8) and a 65th channel.
  void add(const RawFrame& frame, int64_t position, FrameBatch& out, LineNotes& notes) {
    const bool same = current_channel(out) == frame.channel;
    if (!any_ || frame.channel != channel_) choose(frame.channel);
    if (!taken_) {
      ++notes.other_channels;
      return;
    }
    if (static_cast<int64_t>(frame.length) > out.width || frame.time_ns < 0)
      refuse_frame(frame, position, out);
    out.append(frame.time_ns, frame.can_id, frame.data, frame.length, kUnlabelled);
    out.set_flags(frame.flags);
    last_ = &out;
    if (same)
      out.channel.push_back(uint8_t{out.channel.back()});
    else if (!name_.empty() && !out.set_channel(name_))
      refuse(position, "one more channel", "at most 64; choose one with --channel");
  }
  /// The channel whose frames may be appended to `out` without add(), because the last frame of `out` has the
  /// same channel. Their times and lengths must be ones that add() accepts. None if there is no such channel,
  /// as when the previous frame was not read or went to another batch.
  std::optional<uint32_t> current_channel(const FrameBatch& out) const {
    if (!any_ || !taken_ || last_ != &out || out.channel.empty()) return std::nullopt;
    return channel_;
  }
  /// Sets the name of a channel. Without it the channel's number is its name. An empty name means that the
  /// file records no channel, so it is only for files in which all frames have that channel. Errors:
  /// BudgetExceeded.
  void name_channel(uint32_t channel, std::string name);
  /// Forgets all names. No frame of a channel named so far may follow.
  void forget_channels();
  const FormatOptions& options() const { return options_; }
  /// Accepts a capture that is cut off at `position`. Errors: InputError with --truncated fail.
  void allow_cut(int64_t position) const;
  /// Throws InputError with the text "FILE: byte N: found F, expected E".
  [[noreturn]] void refuse(int64_t position, const std::string& found, const std::string& expected) const;

 private:
  void choose(uint32_t channel);
  [[noreturn]] void refuse_frame(const RawFrame& frame, int64_t position, const FrameBatch& out) const;

  FormatOptions options_;
  std::string file_;
  std::map<uint32_t, std::string> names_;
  Charge charge_{Tag::ingest};  // Memory of names_.
  // State of the previous frame, if any.
  bool any_ = false;
  uint32_t channel_ = 0;
  std::string name_;
  bool taken_ = false;
  const FrameBatch* last_ = nullptr;  // Batch of the previous frame.
};

/// Reads the frames of a binary capture in the order of the file. Not thread-safe.
class FrameReader {
 public:
  virtual ~FrameReader() = default;

  /// Appends the next frames, at most `max`, perhaps none. Returns false if no more follow them. Errors:
  /// InputError that names the file and the byte, BudgetExceeded, and Failure if a scratch file is needed and
  /// cannot be used.
  virtual bool read(size_t max, FrameBatch& out, LineNotes& notes) = 0;
  /// Properties of the frames. Known once read() returned false.
  virtual CaptureFacts facts() const = 0;
  virtual int64_t bytes_read() const = 0;      ///< Bytes of the file itself read so far.
  virtual int64_t unpacked_bytes() const = 0;  ///< Bytes read so far, after decompression.
  /// XXH3-64 of the file's own bytes. Known once read() returned false.
  virtual std::string source_hash() const = 0;
  /// The place at which the capture is cut off, if any. Known once read() returned false.
  const std::optional<Truncation>& truncation() const { return truncation_; }

  /// Opens the reader of a binary file and moves `stream` into it, which must be at its start. Returns null
  /// for a text; `stream` then still yields all of its bytes. Throws InputError for a damaged file, for a
  /// file that is not of the binary format that options.name names, and for a database, for which the error
  /// names a tool that converts it to a log. After an error `stream` is null.
  static std::unique_ptr<FrameReader> open(const std::filesystem::path& path, const FormatOptions& options,
                                           std::unique_ptr<InputStream>& stream);

 protected:
  std::optional<Truncation> truncation_;
};

// Each format has its own file.

/// Vector's Binary Logging Format.
std::unique_ptr<FrameReader> open_blf(const std::string& file, const FormatOptions& options,
                                      std::unique_ptr<InputStream> stream);
/// ASAM MDF 4 with bus logging, sorted or not, packed or not, finalised or not. The file is memory-mapped.
/// Errors: InputError, also for a compressed file (.zst, .gz) and a pipe.
std::unique_ptr<FrameReader> open_mf4(const std::filesystem::path& path, const FormatOptions& options);
/// pcap and pcapng of SocketCAN interfaces.
std::unique_ptr<FrameReader> open_pcap(const std::string& file, const FormatOptions& options,
                                       std::unique_ptr<InputStream> stream);

}  // namespace plimsoll
