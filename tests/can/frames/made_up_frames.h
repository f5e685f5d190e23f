#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "can/frames/frames.h"

namespace plimsoll {

/// Frames that own their memory.
struct FrameColumns {
  std::vector<int64_t> time_ns;
  std::vector<uint32_t> can_id;
  std::vector<uint8_t> length, data, label;
  std::vector<uint8_t> channel = {};

  FrameSpans spans() const { return {time_ns, can_id, length, data, label, kPayloadBytes, {}, channel}; }
};

/// Valid frames with numbers drawn from `seed`; every 16th is an attack, every 8th has an extended ID.
inline FrameColumns made_up_frames(int64_t count, uint64_t seed) {
  FrameColumns columns;
  for (int64_t i = 0; i < count; ++i) {
    const auto draw = Philox(seed)({static_cast<uint32_t>(i), 0, 0, 0});
    columns.time_ns.push_back(i * 1000 + draw[0] % 1000);
    columns.can_id.push_back(i % 8 == 0 ? (draw[1] & 0x1FFFFFFF) | kCanExtended : draw[1] & 0x7FF);
    columns.length.push_back(static_cast<uint8_t>(draw[2] % 9));
    for (uint32_t byte = 0; byte < 8; ++byte)
      columns.data.push_back(byte < draw[2] % 9 ? static_cast<uint8_t>(draw[3] >> byte) : uint8_t{0});
    columns.label.push_back(i % 16 == 3 ? 1 : 0);
  }
  return columns;
}

/// Writes 100 frames: a recording of 60 and one of 40.
inline void write_made_up_frames(const std::filesystem::path& folder) {
  FramesWriter writer(folder, true);
  for (const auto& [name, frames] : {std::pair{"first", 60}, std::pair{"second", 40}}) {
    writer.append(made_up_frames(frames, static_cast<uint64_t>(frames)).spans());
    Recording recording;
    recording.name = name;
    recording.split = "train";
    writer.end_recording(recording);
  }
  writer.publish(make_provenance("made up", {}));
}

}  // namespace plimsoll
