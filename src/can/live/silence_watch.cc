#include "can/live/silence_watch.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "can/profile/gap.h"
#include "can/windows/window_stream.h"

namespace plimsoll {

SilenceWatch::SilenceWatch(const BusSilence& benign, const Vocabulary& vocabulary, int64_t tick_ns,
                           float threshold)
    : benign_(benign), vocabulary_(vocabulary) {
  if (benign.longest_ns == 0)
    throw UsageError(
        "the detector never learned how long its bus is silent, which --tick compares with; calibrate "
        "it again, or train it on behaviour features");
  const auto longest = static_cast<double>(benign.longest_ns);
  const auto tick = static_cast<double>(tick_ns);
  // The first tick whose score is above the threshold, at most the first beyond 2^61 ns.
  const double ticks = std::floor(std::min(longest * std::exp2(threshold), 0x1p61) / tick) + 1;
  reported_after_ns_ = static_cast<int64_t>(ticks) * tick_ns;
  score_ = static_cast<float>(std::log2(static_cast<double>(reported_after_ns_) / longest));
  heard_.begin(vocabulary_.size());
}

bool SilenceWatch::is_due(int64_t now_ns) const {
  return latest_ns_ && !reported_ && bounded_gap_ns(*latest_ns_, now_ns) > reported_after_ns_ &&
         heard_.count(*latest_ns_) > benign_.ids_before_sleep;
}

int64_t SilenceWatch::add(const FrameSpans& frames, const std::vector<std::string>& channels) {
  if (recording_.channels.size() != channels.size()) recording_.channels = channels;
  const FrameKeys keys = vocabulary_.keys(frames, recording_);
  for (int64_t f = 0; f < frames.size(); ++f) {
    const auto at = static_cast<size_t>(f);
    const int64_t time = frames.time_ns[at];
    if (is_due(time)) return f;
    const bool set_back =
        latest_ns_ && gap_ns(time, *latest_ns_) > static_cast<uint64_t>(WindowStream::kMaxBack);
    if (!latest_ns_ || set_back || time > *latest_ns_) {
      latest_ns_ = time;
      reported_ = false;
    }
    heard_.add(vocabulary_.index(keys[at]), time);
  }
  return frames.size();
}

std::optional<Silence> SilenceWatch::until(int64_t now_ns) {
  if (!is_due(now_ns)) return std::nullopt;
  reported_ = true;
  return Silence{*latest_ns_, *latest_ns_ + reported_after_ns_, score_};
}

}  // namespace plimsoll
