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

/// The name of the kind of data set that holds frames.
inline constexpr const char* kFramesKind = "frames";

/// SocketCAN's flag bits of a can_id.
inline constexpr uint32_t kCanExtended = 1U << 31;
inline constexpr uint32_t kCanRemote = 1U << 30;
inline constexpr uint32_t kCanError = 1U << 29;

/// Flags of a frame: those of SocketCAN's canfd_frame, and the direction.
inline constexpr uint8_t kFrameBrs = 1;  ///< The bit rate was switched.
inline constexpr uint8_t kFrameEsi = 2;  ///< The sender was error passive.
inline constexpr uint8_t kFrameFd = 4;   ///< The frame is CAN FD, whatever its length.
/// Sent by the recording device; set only if the capture records directions.
inline constexpr uint8_t kFrameSent = 8;
inline constexpr uint8_t kFrameFlags = 15;  ///< All of these flags.

inline constexpr uint8_t kUnlabelled = 255;  ///< Label of a frame for which none is known.
inline constexpr int64_t kPayloadBytes = 8;  ///< Maximum payload bytes of a classic frame.

/// Frames as columns of equal length. A view that does not own its memory (docs/formats/frames.md).
struct FrameSpans {
  std::span<const int64_t> time_ns;
  std::span<const uint32_t> can_id;
  std::span<const uint8_t> length;      ///< Payload bytes.
  std::span<const uint8_t> data;        ///< `width` bytes per frame, zero after its length.
  std::span<const uint8_t> label;       ///< 0, 1 or kUnlabelled.
  int64_t width = kPayloadBytes;        ///< Bytes of `data` per frame: 8, or 64 for CAN FD.
  std::span<const uint8_t> flags = {};  ///< Bits kFrame*; empty if no frame has a flag.
  /// Index into Recording::channels. Empty if each recording has one channel.
  std::span<const uint8_t> channel = {};

  int64_t size() const { return static_cast<int64_t>(time_ns.size()); }
  /// The message of a frame, with the channel numbered as in the recording.
  MessageKey key(size_t frame) const {
    const MessageKey number = channel.empty() ? 0 : channel[frame];
    return number << kChannelShift | can_id[frame];
  }
  /// A view of `count` frames from `first` on, which must all exist.
  FrameSpans part(int64_t first, int64_t count) const;
};

/// One capture file, as the manifest of a `frames` set describes it.
struct Recording {
  std::string name;    ///< CaptureFile::name, followed by @CHANNEL if the capture has several recordings.
  std::string split;   ///< CaptureFile::split.
  std::string source;  ///< Path relative to the ingested source.
  int64_t bytes = 0;   ///< Size of the source file.
  std::string hash;    ///< XXH3-64 of the source file.
  /// Channel of all frames. None if the capture does not record it or if frames differ.
  std::optional<std::string> channel;
  std::vector<std::string> channels = {};  ///< Names of merged channels, indexed by FrameSpans::channel.
  bool has_time = true;  ///< If false, the source states no times, and they only number the frames.
  bool has_payload = true;
  bool labelled = true;
  std::optional<std::string> attack;  ///< Attack named by the file name. None for attack-free traffic.
  int64_t first_frame = 0;
  int64_t frames = 0;
  int64_t attack_frames = 0;           ///< Number of frames with label 1.
  std::string content;                 ///< XXH3-128 of the frames, equal for copies.
  std::optional<std::string> copy_of;  ///< "split/name" of the first recording with this content.
  Json traps = Json::object();         ///< Irregularities handled on purpose, such as {"odd_payload": 1}.
  std::optional<int64_t> truncated_at = {};  ///< Byte of the unpacked source at which it is cut off.

  std::string path() const { return split + "/" + name; }
  int64_t heap_bytes() const;  ///< Heap bytes of its texts and traps.
  Json to_json() const;
  /// The recording of an entry of the manifest. Errors: InputError that begins with `where`.
  static Recording from_json(const Json& json, const std::string& where);
};

/// Writes a `frames` set, one recording after the other. Either all recordings have merged channels or none
/// has. Not thread-safe.
class FramesWriter {
 public:
  /// `width` is the maximum number of payload bytes per frame: 8 or 64. `replace` and the errors are those of
  /// DataSetWriter.
  FramesWriter(const std::filesystem::path& folder, bool replace, int64_t width = kPayloadBytes,
               FileSystem& files = FileSystem::disk());

  /// Appends frames to the current recording. Errors: InputError if some frames have a channel and others
  /// have none; Failure, BudgetExceeded.
  void append(const FrameSpans& frames);
  /// Ends the recording that consists of all frames appended since the last end. Fills in its first frame,
  /// counts, content and copy_of. The reference is valid until the next recording ends.
  const Recording& end_recording(Recording recording);
  /// Appends a whole recording of another set, whose content and attack frames are known. All frames passed
  /// to append() must belong to a recording that has ended. Errors: those of append().
  void append_recording(const FrameSpans& frames, const Recording& recording);
  /// Writes the manifest and makes the set appear at its folder, as DataSetWriter::publish() does. Call it
  /// once, after the last recording has ended.
  void publish(Json provenance);

  const std::vector<Recording>& recordings() const { return recordings_; }
  /// Moves the recordings out. Call it after publish().
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
  NpyWriter* flags_ = nullptr;  // Set at the first frame that has a flag.
  NpyWriter* channel_ = nullptr;
  int64_t frames_ = 0;
  int64_t attack_frames_ = 0;
  int64_t recorded_ = 0;
  Hasher content_;
  Charge charge_{Tag::output};  // Memory of the recordings and of the JSON that publish() makes of them.
  std::vector<Recording> recordings_;
};

/// A `frames` set opened for reading. Immutable, so any number of threads may read it. Views from frames()
/// are valid as long as this object.
class FramesView {
 public:
  /// Checks the columns' lengths and the table of recordings, but not the frames (require_sound()). Errors:
  /// InputError, BudgetExceeded.
  explicit FramesView(const std::filesystem::path& folder);

  const DataSetView& set() const { return set_; }
  /// Identifies the set as a source of another set: checksums of its columns and a hash of its recordings.
  Json identity() const;
  const FrameSpans& frames() const { return frames_; }
  const std::vector<Recording>& recordings() const { return recordings_; }

 private:
  DataSetView set_;
  FrameSpans frames_;
  Charge charge_{Tag::columns};  // Memory of the recordings.
  std::vector<Recording> recordings_;
};

}  // namespace plimsoll
