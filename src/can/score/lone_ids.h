#pragma once

#include <algorithm>
#include <cstdint>

#include "can/profile/behaviour_profile.h"

namespace plimsoll {

/// What each ID's signals do that they never did, in doublings, since its last frame. When many IDs do it at
/// once, the car is the cause: so the worst of a window counts less the worst of any other ID that was heard
/// in the kLookBack frames before it.
class LoneIds {
 public:
  static int64_t bytes(int64_t ids) { return ids * static_cast<int64_t>(sizeof(One)); }
  /// Of so many IDs nothing is known yet.
  void begin(int32_t ids) { all_.assign(static_cast<size_t>(ids), {}); }
  /// At this frame: what is held against others, and what is judged itself, which is no more.
  void put(int32_t id, int64_t frame, float any, float judged) {
    all_[static_cast<size_t>(id)] = {frame, any, judged};
  }
  /// Of the IDs with a frame from this one on; 0 where none does more than another.
  float worst(int64_t first_frame) const {
    // The worst two: of the worst, the other is the second.
    const One* max = nullptr;
    const One* second = nullptr;
    for (const One& one : all_) {
      if (one.frame < first_frame - BehaviourProfile::kLookBack) continue;
      if (max == nullptr || one.any > max->any) {
        second = max;
        max = &one;
      } else if (second == nullptr || one.any > second->any) {
        second = &one;
      }
    }
    float worst = 0;
    for (const One& one : all_) {
      if (one.frame < first_frame) continue;
      const One* const other = &one == max ? second : max;
      worst = std::max(worst, one.judged - (other == nullptr ? 0 : other->any));
    }
    return worst;
  }

 private:
  struct One {
    int64_t frame = -1;
    float any = 0;
    float judged = 0;
  };
  Vector<One, Tag::blocks> all_;  // by index
};

}  // namespace plimsoll
