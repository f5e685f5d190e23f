#include "windows/state_changes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "windows/behaviour_columns.h"
#include "windows/gap.h"

namespace plimsoll {

void StateChanges::begin(const FrameWindow& window, const BehaviourProfile& profile) {
  recording_ = window.recording;
  seen_.clear();
  for (int32_t id = 0; id < profile.vocabulary().size(); ++id)
    seen_.push_back({.fixed = profile.id(id).has_expectations ? profile.id(id).fixed_bits : 0});
  changes_.fill({});
  changed_ = 0;
  next_ = recording_->first_frame;
}

void StateChanges::read(const FrameSpans& frames, const FrameWindow& window, const BehaviourProfile& profile,
                        bool benign_only, int64_t dropped) {
  const int64_t first = window.first + dropped;
  if (recording_ != window.recording || first < first_) begin(window, profile);
  first_ = first;
  next_ = std::max(next_, dropped);
  const FrameKeys keys = profile.vocabulary().keys(frames, *window.recording);
  for (; next_ < first + window.count; ++next_) {
    const auto at = static_cast<size_t>(next_ - dropped);
    const int32_t id = profile.vocabulary().index(keys[at]);
    if (id == profile.vocabulary().size() || (benign_only && frames.label[at] == 1)) continue;
    Seen& seen = seen_[static_cast<size_t>(id)];
    const bool first_frame = seen.last_at < 0;
    seen.last_at = next_;
    seen.last_ns = frames.time_ns[at];
    seen.off = false;
    uint64_t payload = 0;
    std::memcpy(&payload, &frames.data[at * static_cast<size_t>(frames.width)], sizeof(payload));
    // From frame to frame: on another drive a bit may have another value from the start.
    const uint64_t changed = first_frame ? 0 : (payload ^ seen.payload) & seen.fixed;
    seen.payload = payload;
    if (changed == 0) continue;
    seen.fixed &= ~changed;
    changes_[changed_++ % kChanges] = {seen.last_ns, id};
  }
}

bool StateChanges::was_turned_off(int32_t id, const BehaviourProfile& profile) const {
  const int64_t last = seen_[static_cast<size_t>(id)].last_ns;
  const int64_t moment = std::max(kMoment, profile.id(id).longest_gap);
  std::set<int32_t> others;
  for (const Change& change : changes_)
    if (change.id >= 0 && change.id != id && change.time_ns >= last &&
        bounded_gap_ns(last, change.time_ns) <= moment)
      others.insert(change.id);
  return std::ssize(others) >= kFewestIds;
}

std::optional<float> StateChanges::silence(const FrameSpans& frames, const FrameWindow& window,
                                           const BehaviourProfile& profile, bool benign_only,
                                           int64_t dropped) {
  const bool applies =
      window.recording->has_time && window.recording->has_payload && !profile.arrivals().empty();
  if (!applies || window.count == 0) return std::nullopt;
  read(frames, window, profile, benign_only, dropped);
  const auto times =
      frames.time_ns.subspan(static_cast<size_t>(window.first), static_cast<size_t>(window.count));
  const int64_t end = *std::ranges::max_element(times);
  // As the graph has it: an ID that is not heard in the look-back is silent since its begin.
  const int64_t start = std::max(recording_->first_frame, first_ - BehaviourProfile::kLookBack);
  double worst = 0;
  bool any = false;
  for (const int32_t id : profile.expected()) {
    Seen& seen = seen_[static_cast<size_t>(id)];
    const int64_t since =
        seen.last_at >= start ? seen.last_ns : frames.time_ns[static_cast<size_t>(start - dropped)];
    const int64_t silent = bounded_gap_ns(since, end);
    const int64_t longest = profile.id(id).longest_gap;
    if (silent <= longest) continue;
    seen.off = seen.off || (seen.last_at >= 0 && was_turned_off(id, profile));
    any = any || seen.off;
    if (!seen.off)
      worst = std::max(worst, std::log2(static_cast<double>(silent) / static_cast<double>(longest)));
  }
  if (!any) return std::nullopt;
  return static_cast<float>(std::min(worst, behaviour::kMostUnits));
}

}  // namespace plimsoll
