#include "windows/signal_steps.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

float SignalSteps::worst(const FrameSpans& frames, const FrameWindow& window,
                         const BehaviourProfile& profile) {
  const SignalModel& signals = profile.signals();
  if (signals.signals().empty() || !window.recording->has_payload) return 0;
  seen_.assign(static_cast<size_t>(profile.vocabulary().size()) + 1, {});
  const int64_t start = std::max(window.recording->first_frame, window.first - BehaviourProfile::kLookBack);
  const FrameKeys keys = profile.vocabulary().keys(frames, *window.recording);
  double worst = 1;  // as a ratio
  for (int64_t f = start; f < window.first + window.count; ++f) {
    const auto at = static_cast<size_t>(f);
    const int32_t id = profile.vocabulary().index(keys[at]);
    const auto its = signals.of(id);
    if (its.empty()) continue;
    const uint64_t payload = payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]);
    Seen& seen = seen_[static_cast<size_t>(id)];
    if (f >= window.first && seen.count == 2)
      for (const Signal& signal : its)
        worst =
            std::max(worst, (signal.surprise(seen.before_last, seen.last, payload) + 1) / (signal.most + 1));
    seen = {payload, seen.last, std::min(seen.count + 1, 2)};
  }
  return static_cast<float>(std::log2(worst));
}

}  // namespace plimsoll
