#include "can/score/extra_frames.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "can/profile/gap_bins.h"

namespace plimsoll {
namespace {

// A sender whose payload is constant may send at once when a switch in it changes, and then repeat: COM
// transmission mode MIXED of AUTOSAR. A few bits change, and they keep their new value.
constexpr int kSwitchBits = 2;
constexpr int32_t kRepeats = 8;
// If bits change back within this number of frames, the sender did not change them.
constexpr int32_t kStays = 2;
constexpr double kTakenBack = 4;
constexpr int32_t kCrowd = 2;

}  // namespace

int64_t ExtraFrames::Seen::span_from(int back, int64_t time_ns) const {
  return GapBins::gap_of(times[static_cast<size_t>((count - back) % kGaps)], time_ns);
}

bool ExtraFrames::Seen::fits_better(int64_t time_ns) const {
  if (count < kGaps) return false;
  const int64_t last = times[static_cast<size_t>((count - 1) % kGaps)];
  const int64_t before = times[static_cast<size_t>((count - 2) % kGaps)];
  const double usual = static_cast<double>(span_from(kGaps, before)) / (kGaps - 2);
  const auto off = [&](int64_t time) {
    return std::abs(static_cast<double>(GapBins::gap_of(before, time)) - usual);
  };
  return off(time_ns) < off(last);
}

int64_t ExtraFrames::Seen::replace_last(int64_t time_ns, uint64_t new_payload, int64_t frame) {
  times[static_cast<size_t>((count - 1) % kGaps)] = time_ns;
  payload = new_payload;
  left_out = 0;
  return std::exchange(last_frame, frame);
}

double ExtraFrames::excess_of_still(Seen& seen, double excess, uint64_t payload) {
  if (seen.event && payload == seen.before_event && payload != seen.payload &&
      seen.event_frames >= kRepeats - kStays) {
    seen.event = false;
    return std::max(excess, kTakenBack);
  }
  if (excess > 1) {
    if (payload != seen.payload && std::popcount(payload ^ seen.payload) <= kSwitchBits) {
      seen.event = true;
      seen.event_frames = kRepeats;
      seen.before_event = seen.payload;
      return 0;
    }
    if (seen.event && payload == seen.payload && seen.event_frames > 0) {
      --seen.event_frames;
      return 0;
    }
  }
  if (payload != seen.payload) seen.event = false;
  return excess;
}

ExtraFrames::Event ExtraFrames::take(const Arrival& arrival, Seen& seen, int64_t time_ns, uint64_t payload,
                                     int64_t frame) {
  // If the clock was set back, times cannot be compared with those before.
  if (seen.count > 0 && time_ns < seen.times[static_cast<size_t>((seen.count - 1) % Seen::kGaps)]) seen = {};
  Event event{0, frame};
  if (seen.count > 0) event.excess = arrival.one.excess(seen.span_from(1, time_ns));
  if (seen.count > 1) {
    const int64_t two = seen.span_from(2, time_ns);
    // If the previous frame was late and this one is on time, only one gap is short; an added frame shortens
    // both gaps.
    if (arrival.two.min_ns > 0 && two >= arrival.two.min_ns) event.excess = 0;
    event.excess = std::max(event.excess, arrival.two.excess(two));
  }
  if (seen.count >= Seen::kGaps && arrival.eight.min_ns > 0)
    event = {arrival.eight.excess(seen.span_from(Seen::kGaps, time_ns)), frame};
  if (arrival.still && arrival.eight.min_ns == 0 && seen.count > 0)
    event.excess = excess_of_still(seen, event.excess, payload);
  if (event.excess > 1 && arrival.eight.min_ns == 0) {
    seen.last_excess = event.excess;
    if (seen.fits_better(time_ns))
      event.frame = seen.replace_last(time_ns, payload, frame);
    else
      ++seen.left_out;
    return event;
  }
  // After several frames that came too soon, a frame that is on time need not be the sender's own.
  if (seen.left_out >= kCrowd) event.excess = std::max(event.excess, seen.last_excess);
  ++seen.count;
  seen.replace_last(time_ns, payload, frame);
  return event;
}

void ExtraFrames::read(const FrameSpans& frames, const FrameKeys& keys, const BehaviourProfile& profile,
                       bool benign_only, int64_t dropped) {
  const int64_t frame = next_++;
  if (frame >= first_) excess_.push_back(0);
  const auto at = static_cast<size_t>(frame - dropped);
  const int32_t id = profile.vocabulary().index(keys[at]);
  if (id == profile.vocabulary().size() || (benign_only && frames.label[at] == 1)) return;
  Event event = take(profile.arrivals().for_id(id), seen_[static_cast<size_t>(id)], frames.time_ns[at],
                     payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]), frame);
  // The window of an earlier frame may have been evaluated already.
  if (event.frame < frame - kLookAhead) event.frame = frame;
  if (event.frame < first_) return;
  float& excess = excess_[static_cast<size_t>(event.frame - first_)];
  excess = std::max(excess, static_cast<float>(event.excess));
}

float ExtraFrames::worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
                         bool benign_only, int64_t dropped) {
  const int64_t ahead = look_ahead(profile, *window.recording);
  if (ahead == 0) return 0;
  const int64_t first = window.first + dropped;
  if (recording_ != window.recording || first < first_) {
    recording_ = window.recording;
    seen_.assign(static_cast<size_t>(profile.vocabulary().size()), {});
    excess_.clear();
    first_ = first;
    next_ = std::max(recording_->first_frame, dropped);
  }
  excess_.erase(excess_.begin(), excess_.begin() + std::min(first - first_, std::ssize(excess_)));
  first_ = first;
  next_ = std::max(next_, dropped);
  const FrameKeys keys = profile.vocabulary().keys(frames, *window.recording);
  const int64_t stop = std::min(first + window.count + ahead, recording_->first_frame + recording_->frames);
  while (next_ < stop) read(frames, keys, profile, benign_only, dropped);
  float worst = 0;
  for (int64_t f = 0; f < window.count; ++f) worst = std::max(worst, excess_[static_cast<size_t>(f)]);
  return worst;
}

}  // namespace plimsoll
