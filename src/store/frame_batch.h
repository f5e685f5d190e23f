#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "memory/vector.h"
#include "store/frames.h"

namespace plimsoll {

/// Frames parsed and not yet written.
struct FrameBatch {
  int64_t width = kPayloadBytes;  ///< bytes of `data` a frame
  Vector<int64_t, Tag::ingest> time_ns;
  Vector<uint32_t, Tag::ingest> can_id;
  Vector<uint8_t, Tag::ingest> length;
  Vector<uint8_t, Tag::ingest> data;
  Vector<uint8_t, Tag::ingest> label;
  Vector<uint8_t, Tag::ingest> channel;  ///< index into `channels`; empty where the format tells no channels
  std::vector<std::string> channels;     ///< names, in the order of their first frames; clear() keeps them

  static constexpr size_t kMostChannels = 64;

  /// The frame appended last is of this channel. False where there would be too many channels.
  bool set_channel(std::string_view name) {
    const auto found = std::ranges::find(channels, name);
    if (found == channels.end()) {
      if (channels.size() == kMostChannels) return false;
      channels.emplace_back(name);
      channel.push_back(static_cast<uint8_t>(channels.size() - 1));
    } else {
      channel.push_back(static_cast<uint8_t>(found - channels.begin()));
    }
    return true;
  }
  /// Appends frame `i` of others of the same width, without its channel.
  void append_frame(const FrameSpans& from, size_t i) {
    time_ns.push_back(from.time_ns[i]);
    can_id.push_back(from.can_id[i]);
    length.push_back(from.length[i]);
    label.push_back(from.label[i]);
    const auto first = from.data.begin() + static_cast<std::ptrdiff_t>(i) * width;
    data.insert(data.end(), first, first + width);
  }

  void clear() { truncate(0); }
  /// Makes room, so that the columns need not grow: while one grows, its old and its new memory are both
  /// held.
  void reserve(size_t frames) {
    time_ns.reserve(frames);
    can_id.reserve(frames);
    length.reserve(frames);
    data.reserve(frames * static_cast<size_t>(width));
    label.reserve(frames);
  }
  /// Keeps the first `frames` frames; some columns may be one ahead of others.
  void truncate(size_t frames) {
    time_ns.resize(frames);
    can_id.resize(frames);
    length.resize(frames);
    data.resize(frames * static_cast<size_t>(width));
    label.resize(frames);
    channel.resize(std::min(frames, channel.size()));
  }
  size_t frames() const { return time_ns.size(); }
  FrameSpans spans() const { return {time_ns, can_id, length, data, label, width}; }
};

}  // namespace plimsoll
