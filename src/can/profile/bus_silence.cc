#include "can/profile/bus_silence.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "can/profile/behaviour_profile.h"
#include "can/profile/gap.h"

namespace plimsoll {

int64_t HeardIds::count(int64_t time_ns) const {
  return std::ranges::count_if(last_, [&](int64_t last) {
    return last != kNever && gap_ns(last, time_ns) <= static_cast<uint64_t>(BusSilence::kBefore);
  });
}

BusSilence BusSilence::learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                             const Vocabulary& vocabulary) {
  BusSilence silence;
  HeardIds heard;
  for (const FrameWindow& run : runs) {
    if (!run.recording->has_time || run.count == 0) continue;
    heard.begin(vocabulary.size());
    const FrameKeys keys = vocabulary.keys(frames, *run.recording);
    int64_t latest = frames.time_ns[static_cast<size_t>(run.first)];
    for (int64_t f = run.first; f < run.first + run.count; ++f) {
      const auto at = static_cast<size_t>(f);
      const int64_t time = frames.time_ns[at];
      const int64_t gap = bounded_gap_ns(latest, time);
      if (gap > kLongestAwake)
        silence.ids_before_sleep = std::max(silence.ids_before_sleep, heard.count(latest));
      else
        silence.longest_ns = std::max({silence.longest_ns, gap, kMin});
      latest = std::max(latest, time);
      heard.add(vocabulary.index(keys[at]), time);
    }
  }
  return silence;
}

void BusSilence::add(const BusSilence& other) {
  longest_ns = std::max(longest_ns, other.longest_ns);
  ids_before_sleep = std::max(ids_before_sleep, other.ids_before_sleep);
}

NamedTensors BusSilence::tensors() const {
  return {{"profile.silence", own_tensor<int64_t>(std::array{longest_ns, ids_before_sleep}, {2})}};
}

BusSilence BusSilence::from_tensors(const NamedTensors& tensors) {
  if (!tensors.contains("profile.silence")) return {};
  const auto values = values_of<int64_t>(tensors, "profile.silence", {2});
  if (values[0] < 0 || values[0] > kLongestAwake || values[1] < -1)
    throw InputError(
        "the model's tensor 'profile.silence' holds an impossible time, or number of IDs; calibrate it "
        "again");
  return {values[0], values[1]};
}

}  // namespace plimsoll
