#pragma once

#include "memory/vector.h"
#include "store/frames.h"

namespace plimsoll {

/// Frames parsed and not yet written.
struct FrameBatch {
  Vector<int64_t, Tag::ingest> time_ns;
  Vector<uint32_t, Tag::ingest> can_id;
  Vector<uint8_t, Tag::ingest> length;
  Vector<uint8_t, Tag::ingest> data;
  Vector<uint8_t, Tag::ingest> label;

  void reserve(size_t frames) {
    time_ns.reserve(frames);
    can_id.reserve(frames);
    length.reserve(frames);
    data.reserve(frames * kPayloadBytes);
    label.reserve(frames);
  }
  void clear() {
    time_ns.clear();
    can_id.clear();
    length.clear();
    data.clear();
    label.clear();
  }
  FrameSpans spans() const { return {time_ns, can_id, length, data, label}; }
};

}  // namespace plimsoll
