#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "store/data_set.h"
#include "store/message_ids.h"

namespace plimsoll {

/// SocketCAN's flag bits of a can_id.
inline constexpr uint32_t kCanExtended = 1U << 31;
inline constexpr uint32_t kCanRemote = 1U << 30;
inline constexpr uint32_t kCanError = 1U << 29;

/// Flags of a frame: SocketCAN's of canfd_frame, and the direction.
inline constexpr uint8_t kFrameBrs = 1;   ///< bit rate switched
inline constexpr uint8_t kFrameEsi = 2;   ///< the sender was error passive
inline constexpr uint8_t kFrameFd = 4;    ///< CAN FD, whatever its length
inline constexpr uint8_t kFrameSent = 8;  ///< sent by who recorded it, where the capture tells directions
inline constexpr uint8_t kFrameFlags = 15;

inline constexpr uint8_t kUnlabelled = 255;
inline constexpr int64_t kPayloadBytes = 8;

/// Frames as columns, all of one length: a view of somebody else's memory (docs/formats/frames.md).
struct FrameSpans {
  std::span<const int64_t> time_ns;
  std::span<const uint32_t> can_id;
  std::span<const uint8_t> length;      ///< payload bytes
  std::span<const uint8_t> data;        ///< `width` bytes a frame, zero after its length
  std::span<const uint8_t> label;       ///< 0, 1 or kUnlabelled
  int64_t width = kPayloadBytes;        ///< bytes of `data` a frame: 8, or 64 for CAN FD
  std::span<const uint8_t> flags = {};  ///< kFrame...; empty where no frame has any
  /// Index into Recording::channels; empty where recordings are of one channel each.
  std::span<const uint8_t> channel = {};

  int64_t size() const { return static_cast<int64_t>(time_ns.size()); }
  /// The message of a frame, as the recording numbers channels.
  MessageKey key(size_t frame) const {
    const MessageKey number = channel.empty() ? 0 : channel[frame];
    return number << kChannelShift | can_id[frame];
  }
  FrameSpans part(int64_t first, int64_t count) const;
};

/// One capture file, as the manifest of a `frames` set describes it.
struct Recording {
  std::string name;                    ///< file name without its endings
  std::string split;                   ///< folder it lies in
  std::string source;                  ///< path below what was ingested
  int64_t bytes = 0;                   ///< of the source file
  std::string hash;                    ///< XXH3-64 of the source file
  std::optional<std::string> channel;  ///< of all frames; none where the capture tells none, or they differ
  std::vector<std::string> channels = {};  ///< of merged ones, by FrameSpans::channel
  bool has_time = true;
  bool has_payload = true;
  bool labelled = true;
  std::optional<std::string> attack;  ///< from the file name; none for attack-free traffic
  int64_t first_frame = 0;
  int64_t frames = 0;
  int64_t attack_frames = 0;           ///< frames with label 1
  std::string content;                 ///< XXH3-128 of the frames: equal for copies
  std::optional<std::string> copy_of;  ///< "split/name" of the first recording with the same content
  Json traps = Json::object();         ///< what was found and handled on purpose: {"odd_payload": 1, ...}
  std::optional<int64_t> truncated_at = {};  ///< byte of the source, unpacked, at which it is cut off

  std::string path() const { return split + "/" + name; }
  int64_t heap_bytes() const;  ///< what its texts and traps hold
  Json to_json() const;
  /// Errors: InputError that begins with `where`.
  static Recording from_json(const Json& json, const std::string& where);
};

/// Writes a `frames` set. Recordings come one after the other; either all of them have channels merged, or
/// none. Not thread-safe.
class FramesWriter {
 public:
  /// `width`: bytes of payload a frame has room for, 8 or 64.
  FramesWriter(const std::filesystem::path& folder, bool replace, int64_t width = kPayloadBytes,
               FileSystem& files = FileSystem::disk());

  /// Errors: InputError where some frames come with a channel and some without; Failure, BudgetExceeded.
  void append(const FrameSpans& frames);
  /// Ends the recording made of all frames appended since the last end; fills in its counts, content and
  /// copy_of.
  const Recording& end_recording(Recording recording);
  /// A whole recording of another set, whose content and attack frames are known.
  void append_recording(const FrameSpans& frames, const Recording& recording);
  void publish(Json provenance);

  const std::vector<Recording>& recordings() const { return recordings_; }
  /// Takes them out, after publish().
  std::vector<Recording> take_recordings() { return std::move(recordings_); }

 private:
  void append_columns(const FrameSpans& frames);
  void append_flags(const FrameSpans& frames);
  void append_channel(const FrameSpans& frames);
  const Recording& add(Recording recording);
  void hash_content(const FrameSpans& frames);

  DataSetWriter set_;
  int64_t width_;
  NpyWriter& time_ns_;
  NpyWriter& can_id_;
  NpyWriter& length_;
  NpyWriter& data_;
  NpyWriter& label_;
  NpyWriter* flags_ = nullptr;  // from the first frame on that has one
  NpyWriter* channel_ = nullptr;
  int64_t frames_ = 0;
  int64_t attack_frames_ = 0;
  int64_t recorded_ = 0;
  Hasher content_;
  Charge charge_{Tag::output};  // of the recordings, and of what publish() makes of them
  std::vector<Recording> recordings_;
};

/// A `frames` set opened for reading.
class FramesView {
 public:
  explicit FramesView(const std::filesystem::path& folder);

  const DataSetView& set() const { return set_; }
  /// What identifies the set as a source of another: checksums of its columns and a hash of its recordings.
  Json identity() const;
  const FrameSpans& frames() const { return frames_; }
  const std::vector<Recording>& recordings() const { return recordings_; }

 private:
  DataSetView set_;
  FrameSpans frames_;
  Charge charge_{Tag::columns};  // of the recordings
  std::vector<Recording> recordings_;
};

}  // namespace plimsoll
