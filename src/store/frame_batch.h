#pragma once

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
  }
  size_t frames() const { return time_ns.size(); }
  FrameSpans spans() const { return {time_ns, can_id, length, data, label, width}; }
};

}  // namespace plimsoll
