#include "can/score/state_changes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "can/profile/gap.h"
#include "can/score/behaviour_columns.h"

namespace plimsoll {

void StateChanges::begin(const BehaviourProfile& profile) {
  seen_.clear();
  for (int32_t id = 0; id < profile.vocabulary().size(); ++id)
    seen_.push_back({.fixed = profile.id(id).has_expectations ? profile.id(id).fixed_bits : 0});
  changes_.fill({});
  changed_ = 0;
}

void StateChanges::add(int64_t frame, int32_t id, int64_t time_ns, uint64_t payload) {
  Seen& seen = seen_[static_cast<size_t>(id)];
  // Compare from frame to frame: on another drive a bit may have another value from the start.
  const uint64_t changed = seen.last_at < 0 ? 0 : (payload ^ seen.payload) & seen.fixed;
  seen = {seen.fixed & ~changed, payload, frame, time_ns, /*off=*/false};
  if (changed != 0) changes_[changed_++ % kChanges] = {time_ns, id};
}

bool StateChanges::was_turned_off(int32_t id, const BehaviourProfile& profile) const {
  const int64_t last = seen_[static_cast<size_t>(id)].last_ns;
  const int64_t moment = std::max(kMoment, profile.id(id).longest_gap);
  std::set<int32_t> others;
  for (const Change& change : changes_)
    if (change.id >= 0 && change.id != id && change.time_ns >= last &&
        bounded_gap_ns(last, change.time_ns) <= moment)
      others.insert(change.id);
  return std::ssize(others) >= kMinIds;
}

std::optional<float> StateChanges::silence(const FrameSpans& frames, const FrameWindow& window,
                                           const BehaviourProfile& profile, bool benign_only,
                                           int64_t dropped) {
  const bool applies =
      window.recording->has_time && window.recording->has_payload && !profile.arrivals().empty();
  if (!applies || window.count == 0) return std::nullopt;
  cursor_.advance(
      frames, window, profile.vocabulary(), benign_only, dropped, [&] { begin(profile); },
      [&](int64_t frame, int32_t id, size_t at) {
        uint64_t payload = 0;
        std::memcpy(&payload, &frames.data[at * static_cast<size_t>(frames.width)], sizeof(payload));
        add(frame, id, frames.time_ns[at], payload);
      });
  const auto times =
      frames.time_ns.subspan(static_cast<size_t>(window.first), static_cast<size_t>(window.count));
  const int64_t end = *std::ranges::max_element(times);
  // Use the graph's rule: an ID that is not heard in the look-back has been silent since the look-back began.
  const int64_t start =
      std::max(window.recording->first_frame, window.first + dropped - BehaviourProfile::kLookBack);
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
  return static_cast<float>(std::min(worst, behaviour::kMaxUnits));
}

}  // namespace plimsoll
