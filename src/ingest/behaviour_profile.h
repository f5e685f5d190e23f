#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ingest/vocabulary.h"
#include "memory/vector.h"
#include "store/frames.h"
#include "store/named_tensors.h"

namespace plimsoll {

/// Nanoseconds from one time to another; 0 where time runs back.
inline uint64_t gap_ns(int64_t from, int64_t to) {
  return to > from ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from) : 0;
}

/// A span of time on the scale of all time features: ln(1 + microseconds), 0 at 0, 1 at 10 s and above.
inline double scaled_log(double ns) {
  constexpr double kMost = 1e10;
  constexpr double kLogOfMost = 16.11809575095832;  // ln(1 + 1e7)
  return std::log(1.0 + std::min(ns, kMost) * 1e-3) / kLogOfMost;
}

/// What benign traffic does, ID by ID: what behaviour features are compared with
/// (docs/behaviour-features.md). Immutable once learned: any number of threads may read.
class BehaviourProfile {
 public:
  /// The frames back within which the last occurrence of an ID counts as its predecessor.
  static constexpr int64_t kLookBack = 2000;
  /// Bytes of the longest payload, that of CAN FD. The features of single bytes are those of the first eight.
  static constexpr int64_t kMostPayload = 64;
  /// With fewer gaps an ID has no benign timing, with fewer frames no benign payload.
  static constexpr int64_t kFewest = 8;
  /// With more IDs than this, transitions are not learned: their table grows with the square.
  static constexpr int32_t kMostIds = 4096;

  /// Deviations (population) are taken for no less than these, so that what never varied can be compared.
  static constexpr double kLeastGapDeviation = 0.005;  ///< of scaled_log: about 8 % of a gap
  static constexpr double kLeastByteDeviation = 0.01;

  struct Id {
    bool has_gaps = false;
    bool has_payload = false;
    uint8_t length = 0;                             ///< the most frequent one; the shortest of several
    double gap_mean = 0;                            ///< of scaled_log
    double gap_units = 0;                           ///< 1 / max(deviation, kLeastGapDeviation)
    std::array<double, kPayloadBytes> byte_mean{};  ///< of byte / 255
    std::array<double, kPayloadBytes> byte_units{};
  };

  explicit BehaviourProfile(Vocabulary vocabulary);

  /// The profile of the frames labelled 0 of the recordings that `from` takes; those with the content of an
  /// earlier one are left out, and frames that are not labelled 0 are as if they were not there. IDs are
  /// those of `vocabulary`. Errors: InputError when there is no such frame.
  static BehaviourProfile learn(const FramesView& frames, Vocabulary vocabulary, const LearnFrom& from = {});

  /// As tensors of a model file, "profile.ids" and so on (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// From such tensors; nothing where there is no "profile.ids". Errors: InputError that names a tensor that
  /// is missing or misshapen.
  static std::optional<BehaviourProfile> from_tensors(const NamedTensors& tensors);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// An ID's profile; of the index vocabulary().size(), which is "unknown", an empty one.
  const Id& id(int32_t index) const { return ids_[static_cast<size_t>(index)]; }
  /// Whether benign traffic has a frame of `target` right behind one of `source`.
  bool has_transition(int32_t source, int32_t target) const {
    const int32_t size = vocabulary_.size();
    if (source >= size || target >= size || transitions_.empty()) return false;
    const auto bit = static_cast<size_t>(source) * static_cast<size_t>(size) + static_cast<size_t>(target);
    return (transitions_[bit / 64] >> bit % 64 & 1) != 0;
  }

 private:
  struct Learner;

  Vocabulary vocabulary_;
  Vector<Id, Tag::columns> ids_;
  Vector<uint64_t, Tag::columns> transitions_;  // a bit for each pair of known IDs
};

}  // namespace plimsoll
