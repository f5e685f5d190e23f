#pragma once

#include "can/profile/benign_id.h"

namespace plimsoll {

/// The sums and extremes from which the profile of a calibrated vehicle was learned. The sums of several
/// drives can be added. A model file stores them next to the profile, for `plimsoll calibrate --merge`.
struct ProfileSums {
  int64_t recordings = 0;                            ///< Recordings with times and benign frames.
  Vector<BenignId, Tag::columns> ids = {};           ///< By index in the profile's vocabulary.
  Vector<BenignId::Spans, Tag::columns> spans = {};  ///< By index in the profile's vocabulary.
  ArrivalSums arrivals = {};
  Vector<SignalLine, Tag::columns> lines = {};  ///< One entry per signal of the profile.

  /// The sums as tensors "profile.sums.ids" and so on (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// Reads the sums of this profile. Errors: InputError that names a tensor that is missing, has a wrong
  /// shape or holds impossible values.
  static ProfileSums from_tensors(const NamedTensors& tensors, const BehaviourProfile& profile);
};

/// The profile of one drive that was learned separately, and its sums.
struct LearnedDrive {
  BehaviourProfile profile;
  ProfileSums sums;
};

}  // namespace plimsoll
