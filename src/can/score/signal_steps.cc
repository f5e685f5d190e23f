#include "can/score/signal_steps.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

SignalSteps::Step SignalSteps::step(const Seen& seen, uint64_t payload, std::span<const Signal> signals) {
  Step step;
  if (seen.before_last_at < 0) return step;
  step.from = seen.before_last_at;
  for (const Signal& signal : signals)
    step.ratio =
        std::max(step.ratio, (signal.surprise(seen.before_last, seen.last, payload) + 1) / (signal.max + 1));
  return step;
}

float SignalSteps::worst(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
                         bool benign_only, int64_t dropped) {
  const SignalModel& signals = profile.signals();
  if (signals.signals().empty() || !window.recording->has_payload) return 0;
  const int64_t first = window.first + dropped;
  const int64_t start = std::max(window.recording->first_frame, first - BehaviourProfile::kLookBack);
  if (recording_ != window.recording || first < first_) {
    recording_ = window.recording;
    seen_.assign(static_cast<size_t>(profile.vocabulary().size()), {});
    steps_.clear();
    first_ = first;
    next_ = start;
  }
  steps_.erase(steps_.begin(), steps_.begin() + std::min(first - first_, std::ssize(steps_)));
  first_ = first;
  next_ = std::max(next_, start);
  const FrameKeys keys = profile.vocabulary().keys(frames, *window.recording);
  for (; next_ < first + window.count; ++next_) {
    const auto at = static_cast<size_t>(next_ - dropped);
    const int32_t id = profile.vocabulary().index(keys[at]);
    const auto id_signals = signals.for_id(id);
    Step frame_step;
    if (!id_signals.empty() && !(benign_only && frames.label[at] == 1)) {
      const uint64_t payload = payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]);
      Seen& seen = seen_[static_cast<size_t>(id)];
      if (next_ >= first) frame_step = step(seen, payload, id_signals);
      seen = {payload, seen.last, next_, seen.last_at};
    }
    if (next_ >= first) steps_.push_back(frame_step);
  }
  double worst = 1;  // The maximum ratio.
  for (int64_t f = 0; f < window.count; ++f) {
    const Step& step = steps_[static_cast<size_t>(f)];
    if (step.from >= start) worst = std::max(worst, step.ratio);
  }
  return static_cast<float>(std::log2(worst));
}

}  // namespace plimsoll
