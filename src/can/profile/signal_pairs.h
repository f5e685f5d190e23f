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

/// Two signals of one payload that tell of the same thing, such as the speeds of two wheels: as many bits,
/// and never far apart. Values are a ring, as those of Signal, up to the first bit of the byte that a signal
/// begins in: what never changed there is 0, or part of the number.
struct SignalPair {
  int32_t id = 0;     ///< index of its CAN ID
  uint8_t first = 0;  ///< bit of the payload that each begins at
  uint8_t second = 0;
  uint8_t bits = 0;
  int32_t middle = 0;  ///< of the benign differences, second less first
  int32_t max = 0;     ///< that one differed from it

  /// From the first to the second, less the middle.
  int32_t off(uint64_t payload) const;
  /// The shorter way round.
  int32_t around(int64_t value) const;
};

/// The pairs of a vehicle's signals, found in benign traffic. Immutable once learned: any number of threads
/// may read.
class SignalPairs {
 public:
  /// Signals of a smaller range of benign values are in no pair: counters and states.
  static constexpr int32_t kMinRange = 64;
  /// Differences spread over less than this share of either range.
  static constexpr double kMaxSpread = 0.25;
  /// A signal that goes up, or down, in a smaller share of its steps accumulates: it may begin anew.
  static constexpr double kMinTurns = 0.1;
  static constexpr int64_t kFewest = 100;  ///< frames

  SignalPairs() = default;
  /// Of the IDs [0, ids), by ID.
  SignalPairs(Vector<SignalPair, Tag::columns> pairs, int32_t ids);

  /// From the frames of these runs that are not labelled 1, whose signals these are.
  static SignalPairs learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                           const Vocabulary& vocabulary, const SignalModel& signals);

  std::span<const SignalPair> pairs() const { return pairs_; }
  /// Those of the ID of this index; none of an unknown one.
  std::span<const SignalPair> of(int32_t id) const { return ranges_.of(pairs(), id); }

  /// Doublings by which the two of a pair are further apart than ever, for the worst frame of a window.
  float worst(const FrameSpans& frames, const FrameWindow& window, const Vocabulary& vocabulary) const;

  /// As tensor "profile.signal_pairs" (docs/formats/safetensors.md); none where there is no pair.
  NamedTensors tensors() const;
  /// From such a tensor; empty where there is none. Errors: InputError that names the tensor if it is
  /// misshapen or holds what no model has.
  static SignalPairs from_tensors(const NamedTensors& tensors, int32_t ids);

 private:
  Vector<SignalPair, Tag::columns> pairs_;  // by ID
  IdRanges ranges_;
};

}  // namespace plimsoll
