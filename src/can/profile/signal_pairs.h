#pragma once

#include <cstdint>
#include <span>

#include "can/frames/frames.h"
#include "can/profile/id_ranges.h"
#include "can/profile/signal_model.h"
#include "can/profile/vocabulary.h"
#include "memory/vector.h"
#include "store/named_tensors.h"

namespace plimsoll {

struct FrameWindow;

/// Two signals of one payload that measure the same thing, such as the speeds of two wheels. They have the
/// same number of bits and are never far apart. Values are a ring, as in Signal. A signal is extended to the
/// first bit of its byte, because the bits there that never changed are 0 or part of the number.
struct SignalPair {
  int32_t id = 0;      ///< Index of its CAN ID.
  uint8_t first = 0;   ///< First bit of the first signal in the payload.
  uint8_t second = 0;  ///< First bit of the second signal.
  uint8_t bits = 0;
  int32_t middle = 0;  ///< Middle of the benign differences, second minus first.
  int32_t max = 0;     ///< Maximum distance of a benign difference from the middle.

  /// Difference of the two signals, minus the middle.
  int32_t off(uint64_t payload) const;
  /// `value` on the ring, the shorter way round.
  int32_t around(int64_t value) const;
};

/// The pairs of a vehicle's signals, found in benign traffic. Immutable once learned, so any number of
/// threads may read.
class SignalPairs {
 public:
  /// Minimum benign range of a signal in a pair. Counters and states have a smaller range.
  static constexpr int32_t kMinRange = 64;
  /// Maximum spread of the differences, as a share of the smaller range.
  static constexpr double kMaxSpread = 0.25;
  /// Minimum share of steps up, and of steps down. Other signals accumulate and may start again from zero.
  static constexpr double kMinTurns = 0.1;
  static constexpr int64_t kMinFrames = 100;  ///< Minimum frames of an ID that has pairs.

  SignalPairs() = default;
  /// `pairs` are sorted by ID; IDs are in [0, ids).
  SignalPairs(Vector<SignalPair, Tag::columns> pairs, int32_t ids);

  /// Learns from the frames of these runs that are not labelled 1. `signals` must be learned from the same
  /// frames.
  static SignalPairs learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                           const Vocabulary& vocabulary, const SignalModel& signals);

  std::span<const SignalPair> pairs() const { return pairs_; }
  /// The pairs of the ID with this index. Empty for an unknown ID.
  std::span<const SignalPair> for_id(int32_t id) const { return ranges_.for_id(pairs(), id); }

  /// Doublings (log2 of the ratio) by which the signals of a pair are further apart than ever in benign
  /// traffic, for the worst frame of a window; 0 if none is.
  float worst(const FrameSpans& frames, const FrameWindow& window, const Vocabulary& vocabulary) const;

  /// The model as tensor "profile.signal_pairs" (docs/formats/safetensors.md). Empty if there is no pair.
  NamedTensors tensors() const;
  /// Reads the result of tensors(); empty if there is no such tensor. Errors: InputError that names the
  /// tensor if it has a wrong shape or impossible values.
  static SignalPairs from_tensors(const NamedTensors& tensors, int32_t ids);

 private:
  Vector<SignalPair, Tag::columns> pairs_;  // Sorted by ID.
  IdRanges ranges_;
};

}  // namespace plimsoll
