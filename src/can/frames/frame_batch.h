#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "can/frames/frames.h"
#include "memory/vector.h"

namespace plimsoll {

/// Frames that are parsed and not yet written. Not thread-safe.
struct FrameBatch {
  int64_t width = kPayloadBytes;  ///< Bytes of `data` per frame.
  Vector<int64_t, Tag::ingest> time_ns;
  Vector<uint32_t, Tag::ingest> can_id;
  Vector<uint8_t, Tag::ingest> length;
  Vector<uint8_t, Tag::ingest> data;
  Vector<uint8_t, Tag::ingest> label;
  Vector<uint8_t, Tag::ingest> flags;  ///< Empty if no frame has a flag.
  /// Index into `channels`. Empty if the format does not record channels.
  Vector<uint8_t, Tag::ingest> channel;
  std::vector<std::string> channels;  ///< Names in the order of their first frames. clear() keeps them.

  /// Sets the channel of the frame appended last. Either all frames of a batch have a channel or none has.
  /// Returns false and sets nothing if there would be more than kMaxChannels channels.
  bool set_channel(std::string_view name) {
    const auto found = std::ranges::find(channels, name);
    if (found == channels.end()) {
      if (channels.size() == kMaxChannels) return false;
      channels.emplace_back(name);
      channel.push_back(static_cast<uint8_t>(channels.size() - 1));
    } else {
      channel.push_back(static_cast<uint8_t>(found - channels.begin()));
    }
    return true;
  }
  /// Appends a frame of `count` bytes, at most `width`, without setting its channel or flags.
  void append(int64_t time, uint32_t id, const uint8_t* bytes, size_t count, uint8_t its_label) {
    time_ns.push_back(time);
    can_id.push_back(id);
    length.push_back(static_cast<uint8_t>(count));
    label.push_back(its_label);
    const auto row = static_cast<size_t>(width);
    data.resize(data.size() + row);
    uint8_t* const to = data.data() + data.size() - row;
    if (count == 8 && row == 8)  // Most frames take this path.
      std::memcpy(to, bytes, 8);
    else
      std::fill(std::copy_n(bytes, count, to), to + row, uint8_t{0});
  }
  /// Sets the flags of the frame appended last. A format that records flags must call this for each frame.
  void set_flags(uint8_t its_flags) {
    if (its_flags == 0 && flags.empty()) return;
    flags.resize(frames() - 1, uint8_t{0});
    flags.push_back(its_flags);
  }
  /// Adds space for `count` more frames, whose columns the caller then writes in place. Channels and flags
  /// are not extended.
  void extend(size_t count) {
    const size_t all = frames() + count;
    time_ns.resize(all);
    can_id.resize(all);
    length.resize(all);
    label.resize(all);
    data.resize(all * static_cast<size_t>(width));
  }
  /// Appends frames of the same width, with their channels if these are merged. `channels` does not change.
  void append_frames(const FrameSpans& from) {
    time_ns.insert(time_ns.end(), from.time_ns.begin(), from.time_ns.end());
    can_id.insert(can_id.end(), from.can_id.begin(), from.can_id.end());
    length.insert(length.end(), from.length.begin(), from.length.end());
    label.insert(label.end(), from.label.begin(), from.label.end());
    data.insert(data.end(), from.data.begin(), from.data.end());
    channel.insert(channel.end(), from.channel.begin(), from.channel.end());
    if (flags.empty() && from.flags.empty()) return;
    flags.resize(frames() - static_cast<size_t>(from.size()), uint8_t{0});
    flags.insert(flags.end(), from.flags.begin(), from.flags.end());
    flags.resize(frames(), uint8_t{0});
  }

  void clear() { truncate(0); }
  /// Reserves memory for all columns but flags and channels, so that they need not grow: a column that grows
  /// holds its old and its new memory at the same time.
  void reserve(size_t frames) {
    time_ns.reserve(frames);
    can_id.reserve(frames);
    length.reserve(frames);
    data.reserve(frames * static_cast<size_t>(width));
    label.reserve(frames);
  }
  /// Keeps the first `frames` frames. If there are fewer, frames of zeros are added, without flags or
  /// channels. Before the call some columns may be longer than others, as after a refused line.
  void truncate(size_t frames) {
    time_ns.resize(frames);
    can_id.resize(frames);
    length.resize(frames);
    data.resize(frames * static_cast<size_t>(width));
    label.resize(frames);
    flags.resize(std::min(frames, flags.size()));
    channel.resize(std::min(frames, channel.size()));
  }
  size_t frames() const { return time_ns.size(); }
  /// The frames without their channels. Views are valid until the batch changes.
  FrameSpans spans() const { return {time_ns, can_id, length, data, label, width, flags}; }
  /// The frames with their channels.
  FrameSpans merged_spans() const { return {time_ns, can_id, length, data, label, width, flags, channel}; }
};

}  // namespace plimsoll
