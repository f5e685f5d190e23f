#include "can/score/lone_signals.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

float doublings(double ratio) {
  return ratio > 1 ? static_cast<float>(std::log2(ratio)) : 0;
}

bool is_within(const Signal& signal, uint32_t value) {
  const double margin = LoneSignals::kMargin * (signal.greatest - signal.min);
  return value > signal.min + margin && value < signal.greatest - margin;
}

}  // namespace

int64_t LoneSignals::bytes(const BehaviourProfile& profile) {
  const int64_t ids = profile.vocabulary().size();
  return std::ssize(profile.signals().signals()) * static_cast<int64_t>(sizeof(Track)) +
         ids * static_cast<int64_t>(sizeof(Seen)) + 2 * LoneIds::bytes(ids);
}

void LoneSignals::begin(const BehaviourProfile& profile) {
  const int32_t ids = profile.vocabulary().size();
  seen_.assign(static_cast<size_t>(ids), {});
  tracks_.assign(profile.signals().signals().size(), {});
  held_.begin(ids);
  restless_.begin(ids);
}

void LoneSignals::add(int64_t frame, int32_t id, uint64_t payload, const SignalModel& signals) {
  Seen& seen = seen_[static_cast<size_t>(id)];
  float held = 0;
  float held_within = 0;
  float restless = 0;
  for (const Signal& signal : signals.for_id(id)) {
    if (signal.bits < kMinBits) continue;
    Track& track = tracks_[static_cast<size_t>(&signal - signals.signals().data())];
    const uint32_t value = signal.value(payload);
    track.held = track.held > 0 && value == track.value ? std::min(track.held + 1, 1 << 30) : 1;
    track.value = value;
    if (signal.longest_hold > 0 && signal.longest_hold <= kLongestHold) {
      const float longer = doublings(static_cast<double>(track.held) / signal.longest_hold);
      held = std::max(held, longer);
      if (is_within(signal, value)) held_within = std::max(held_within, longer);
    }
    if (signal.max_mean < 0 || seen.count < 2) continue;
    track.surprises.add(signal.surprise(seen.before_last, seen.last, payload));
    if (!track.surprises.is_full()) continue;
    const double last = track.surprises.mean(kLast);
    if (last <= signal.max_mean) continue;
    const double mean = std::min(last, track.surprises.mean(RecentSurprises::kMax));
    restless = std::max(restless, doublings((mean + 1) / (signal.max_mean + 1)));
  }
  held_.put(id, frame, held, held_within);
  restless_.put(id, frame, restless, restless);
  seen = {payload, seen.last, std::min(seen.count + 1, 2)};
}

LoneSignals::Worst LoneSignals::worst(const FrameSpans& frames, const FrameWindow& window,
                                      const BehaviourProfile& profile, bool benign_only, int64_t dropped) {
  const SignalModel& signals = profile.signals();
  if (signals.signals().empty() || !window.recording->has_payload) return {};
  cursor_.advance(
      frames, window, profile.vocabulary(), benign_only, dropped, [&] { begin(profile); },
      [&](int64_t frame, int32_t id, size_t at) {
        add(frame, id, payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]), signals);
      });
  const int64_t first = window.first + dropped;
  return {held_.worst(first), restless_.worst(first)};
}

}  // namespace plimsoll
