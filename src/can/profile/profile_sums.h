#pragma once

#include "can/profile/benign_id.h"

namespace plimsoll {

/// What the profile of a calibrated vehicle was learned from: sums and extremes, of which those of several
/// drives make up those of all. It stands beside the profile in a model file, for `plimsoll calibrate
/// --merge`.
struct ProfileSums {
  int64_t recordings = 0;  ///< with times and benign frames
  Vector<BenignId, Tag::columns> ids = {};
  Vector<BenignId::Spans, Tag::columns> spans = {};
  ArrivalSums arrivals = {};
  Vector<SignalLine, Tag::columns> lines = {};  ///< of each signal

  /// As tensors "profile.sums.ids" and so on (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// Those of this profile. Errors: InputError that names a tensor that is missing, misshapen or holds what
  /// is impossible.
  static ProfileSums from_tensors(const NamedTensors& tensors, const BehaviourProfile& profile);
};

/// Benign traffic that was learned from alone.
struct LearnedDrive {
  BehaviourProfile profile;
  ProfileSums sums;
};

}  // namespace plimsoll
