#pragma once

#include <algorithm>
#include <cstdint>

#include "can/profile/behaviour_profile.h"

namespace plimsoll {

/// Evaluates by how many doublings (log2 of the ratio) the signals of each ID, as of its last frame, exceed
/// anything before. If many IDs do so at once, the car is the cause; therefore the maximum over all other IDs
/// in the window, or in the BehaviourProfile::kLookBack frames before it, is subtracted from an ID's value.
/// Not thread-safe.
class LoneIds {
 public:
  /// Bytes kept for this number of IDs.
  static int64_t bytes(int64_t ids) { return ids * static_cast<int64_t>(sizeof(IdDeviation)); }
  /// Forgets everything and prepares for IDs 0 .. ids-1.
  void begin(int32_t ids) { all_.assign(static_cast<size_t>(ids), {}); }
  /// Records a frame of an ID. `any` is the value that is subtracted from those of other IDs; `evaluated`, at
  /// most `any`, is the value from which those of other IDs are subtracted.
  void put(int32_t id, int64_t frame, float any, float evaluated) {
    all_[static_cast<size_t>(id)] = {frame, any, evaluated};
  }
  /// The maximum over IDs that have a frame at or after `first_frame`; 0 if no ID exceeds all others.
  float worst(int64_t first_frame) const {
    // The two greatest values are enough: the second is subtracted from the greatest, the greatest from all
    // others.
    const IdDeviation* max = nullptr;
    const IdDeviation* second = nullptr;
    for (const IdDeviation& id : all_) {
      if (id.frame < first_frame - BehaviourProfile::kLookBack) continue;
      if (max == nullptr || id.any > max->any) {
        second = max;
        max = &id;
      } else if (second == nullptr || id.any > second->any) {
        second = &id;
      }
    }
    float worst = 0;
    for (const IdDeviation& id : all_) {
      if (id.frame < first_frame) continue;
      const IdDeviation* const other = &id == max ? second : max;
      worst = std::max(worst, id.evaluated - (other == nullptr ? 0 : other->any));
    }
    return worst;
  }

 private:
  struct IdDeviation {
    int64_t frame = -1;
    float any = 0;
    float evaluated = 0;
  };
  Vector<IdDeviation, Tag::blocks> all_;  // Indexed by ID.
};

}  // namespace plimsoll
