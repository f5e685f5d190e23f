#pragma once

#include <span>

#include "can/profile/behaviour_profile.h"

namespace plimsoll {

/// Calls take(index of the ID, payload_bits()) in order for each frame of these runs that has a known ID and
/// is not labelled 1. Recordings without payloads are skipped.
template <typename Take>
void for_each_benign_payload(const FrameSpans& frames, std::span<const FrameWindow> runs,
                             const Vocabulary& vocabulary, const Take& take) {
  for (const FrameWindow& run : runs) {
    if (!run.recording->has_payload) continue;
    const FrameKeys keys = vocabulary.keys(frames, *run.recording);
    for (int64_t f = run.first; f < run.first + run.count; ++f) {
      const auto at = static_cast<size_t>(f);
      const int32_t id = vocabulary.index(keys[at]);
      if (id == vocabulary.size() || frames.label[at] == 1) continue;
      take(id, payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]));
    }
  }
}

}  // namespace plimsoll
