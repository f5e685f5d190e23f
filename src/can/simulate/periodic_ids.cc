#include "can/simulate/periodic_ids.h"

#include <algorithm>
#include <cstdlib>

#include "can/profile/id_slots.h"
#include "can/simulate/frame_source.h"

namespace plimsoll {
namespace {

constexpr int64_t kMinFrames = 50;
constexpr int64_t kLongestMeanUs = 200'000;
// The square of this number does not overflow, and exceeds the sum of squares that is allowed for fewer than
// 400 million frames.
constexpr int64_t kLongestDeviationUs = 2'000'000'000;

struct Paced {
  MessageKey key;
  int64_t first_ns;
  int64_t last_ns;
  int64_t frames = 1;
  int64_t mean_us = 0;
  int64_t squares_left = 0;  // Remaining allowance for the squared deviations of gaps, in us^2.
};

// Calls `visit` with the ID of each frame that could be forged and the latest time seen.
template <typename Visit>
void visit_payloads(const FrameSpans& frames, Visit visit) {
  int64_t clock = frames.time_ns.empty() ? 0 : frames.time_ns.front();
  for (size_t i = 0; i < frames.time_ns.size(); ++i) {
    clock = std::max(clock, frames.time_ns[i]);
    if (frames.length[i] > 0 && (frames.can_id[i] & (kCanRemote | kCanError)) == 0)
      visit(frames.key(i), clock);
  }
}

}  // namespace

Vector<PeriodicId, Tag::ingest> periodic_ids(const FrameSpans& frames) {
  IdSlots<> slots;
  Vector<Paced, Tag::ingest> ids;
  visit_payloads(frames, [&](MessageKey key, int64_t now_ns) {
    const auto slot = static_cast<size_t>(slots.find_or_add(key, static_cast<int32_t>(ids.size())));
    if (slot == ids.size()) {
      ids.push_back({.key = key, .first_ns = now_ns, .last_ns = now_ns});
    } else {
      ids[slot].last_ns = now_ns;
      ++ids[slot].frames;
    }
  });

  for (Paced& id : ids) {
    const int64_t gaps = id.frames - 1;
    const int64_t span_us = (id.last_ns - id.first_ns) / kMicrosecond;
    const bool candidate = id.frames >= kMinFrames && span_us >= gaps && span_us <= kLongestMeanUs * gaps;
    id.mean_us = candidate ? span_us / gaps : 0;
    // The first frame has no gap before it and counts as a deviation by the mean, so one square of the mean
    // is added.
    id.squares_left = candidate ? (gaps + 4) * id.mean_us * id.mean_us / 4 : -1;
    id.last_ns = id.first_ns;
  }
  visit_payloads(frames, [&](MessageKey key, int64_t now_ns) {
    Paced& id = ids[static_cast<size_t>(slots.find(key))];
    const int64_t gap_us = (now_ns - id.last_ns) / kMicrosecond;
    id.last_ns = now_ns;
    if (id.squares_left < 0) return;
    const int64_t deviation = std::min(std::abs(gap_us - id.mean_us), kLongestDeviationUs);
    id.squares_left -= deviation * deviation;
  });

  Vector<PeriodicId, Tag::ingest> periodic;
  for (const Paced& id : ids)
    if (id.squares_left >= 0) periodic.push_back({.key = id.key, .frames = id.frames});
  return periodic;
}

}  // namespace plimsoll
