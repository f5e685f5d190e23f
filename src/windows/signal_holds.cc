#include "windows/signal_holds.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

int64_t SignalHolds::bytes(const BehaviourProfile& profile) {
  return std::ssize(profile.signals().signals()) * static_cast<int64_t>(sizeof(Held)) +
         profile.vocabulary().size() * static_cast<int64_t>(sizeof(Holds));
}

void SignalHolds::add(int32_t id, uint64_t payload, const SignalModel& signals) {
  Holds& of = holds_[static_cast<size_t>(id)];
  of = {.last = next_};
  for (const Signal& signal : signals.of(id)) {
    if (signal.bits < kFewestBits || signal.longest_hold == 0 || signal.longest_hold > kLongestHold) continue;
    Held& held = held_[static_cast<size_t>(&signal - signals.signals().data())];
    const uint32_t value = signal.value(payload);
    held = {value, value == held.value && held.frames < (1 << 30) ? held.frames + 1 : 1};
    if (held.frames <= signal.longest_hold) continue;
    const auto longer = static_cast<float>(std::log2(static_cast<double>(held.frames) / signal.longest_hold));
    of.any = std::max(of.any, longer);
    const double margin = kMargin * (signal.greatest - signal.least);
    if (value > signal.least + margin && value < signal.greatest - margin)
      of.within = std::max(of.within, longer);
  }
}

float SignalHolds::worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
                         bool benign_only, int64_t dropped) {
  const SignalModel& signals = profile.signals();
  if (signals.signals().empty() || !window.recording->has_payload) return 0;
  const int64_t first = window.first + dropped;
  const int64_t end = first + window.count;
  if (recording_ != window.recording || first < first_) {
    recording_ = window.recording;
    held_.assign(signals.signals().size(), {});
    holds_.assign(static_cast<size_t>(profile.vocabulary().size()), {});
    next_ = recording_->first_frame;
  }
  first_ = first;
  next_ = std::max(next_, dropped);
  const FrameKeys keys = profile.vocabulary().keys(frames, *window.recording);
  for (; next_ < end; ++next_) {
    const auto at = static_cast<size_t>(next_ - dropped);
    const int32_t id = profile.vocabulary().index(keys[at]);
    if (id == profile.vocabulary().size() || (benign_only && frames.label[at] == 1)) continue;
    add(id, payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]), signals);
  }
  // The two IDs that hold worst.
  const Holds* most = nullptr;
  const Holds* second = nullptr;
  for (const Holds& of : holds_) {
    if (most == nullptr || of.any > most->any) {
      second = most;
      most = &of;
    } else if (second == nullptr || of.any > second->any) {
      second = &of;
    }
  }
  float worst = 0;
  for (const Holds& of : holds_) {
    if (of.last < first) continue;
    const Holds* const other = &of == most ? second : most;
    worst = std::max(worst, of.within - (other == nullptr ? 0 : other->any));
  }
  return worst;
}

}  // namespace plimsoll
