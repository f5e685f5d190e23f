#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "can/frames/frames.h"
#include "can/profile/id_ranges.h"
#include "can/profile/vocabulary.h"
#include "memory/vector.h"
#include "store/named_tensors.h"

namespace plimsoll {

struct FrameWindow;

/// The first eight bytes of a payload, bit 0 the highest of the first byte.
uint64_t payload_bits(const uint8_t* data);

/// Bits of an ID's payload that hold one value, and what benign traffic does with it: a step is predicted
/// from the one before. Values are a ring, 2^bits long, so that neither a counter nor a sum that overflows,
/// nor a number that passes zero, is a great step.
struct Signal {
  int32_t id = 0;         ///< index of its CAN ID
  uint8_t first_bit = 0;  ///< of the payload
  uint8_t bits = 0;
  double slope = 0;  ///< of a step, by the step before
  double offset = 0;
  double max = 0;  ///< that a benign step differed from its prediction
  // What can/score/lone_signals.h compares with; 0, and max_mean -1, in files of earlier versions.
  int32_t longest_hold = 0;  ///< frames in a row with one value
  uint32_t min = 0;          ///< value in benign traffic
  uint32_t greatest = 0;
  double max_mean = -1;  ///< of surprises in a row, RecentSurprises::kMax; below 0: too few to say

  uint32_t value(uint64_t payload) const {
    return static_cast<uint32_t>(payload >> (64 - first_bit - bits) & ((uint64_t{1} << bits) - 1));
  }
  /// From `before` to `after`, the shorter way round.
  int32_t step(uint32_t before, uint32_t after) const {
    const int unused = 32 - bits;
    return static_cast<int32_t>((after - before) << unused) >> unused;
  }
  /// How far the last of three payloads is from what the others predict.
  double surprise(uint64_t before_last, uint64_t last, uint64_t now) const;
};

/// Sums over pairs of consecutive steps, of which a line from step to step follows: those of several drives
/// add up.
struct SignalLine {
  static constexpr size_t kNumbers = 6;

  double pairs = 0;
  double first = 0;
  double second = 0;
  double squares = 0;
  double products = 0;
  double max_step = 0;

  void add(double step, double next);
  void add(const SignalLine& other);
  /// Slope and offset.
  void put(Signal& signal) const;
};

/// The signals of a vehicle's payloads, found in benign traffic. Boundaries are those of READ (Marchetti and
/// Stabili, IEEE TIFS 2019): within a number bits flip the more often the lower they are. Immutable once
/// learned: any number of threads may read.
class SignalModel {
 public:
  /// Signals are no longer than this, and an ID with fewer frames has none.
  static constexpr int kMaxBits = 24;
  static constexpr int64_t kFewest = 24;
  /// With fewer benign means of surprises, nothing is said of the greatest.
  static constexpr int64_t kFewestMeans = 64;

  SignalModel() = default;

  /// Of the IDs [0, ids), by ID.
  SignalModel(Vector<Signal, Tag::columns> signals, int32_t ids);
  /// From the frames of these runs that are not labelled 1. A run does not go on from the one before.
  /// `lines`: of each signal.
  static SignalModel learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                           const Vocabulary& vocabulary, Vector<SignalLine, Tag::columns>& lines);

  std::span<const Signal> signals() const { return signals_; }
  /// Those of the ID of this index; none of an unknown one.
  std::span<const Signal> of(int32_t id) const { return ranges_.of(signals(), id); }

  /// As tensors "profile.signal_place", "profile.signal_steps", "profile.signal_holds" and
  /// "profile.signal_means" (docs/formats/safetensors.md); none where there is no signal.
  NamedTensors tensors() const;
  /// From such tensors; empty where there are none. Errors: InputError that names a tensor that is misshapen
  /// or holds what no model has.
  static SignalModel from_tensors(const NamedTensors& tensors, int32_t ids);

 private:
  Vector<Signal, Tag::columns> signals_;  // by ID
  IdRanges ranges_;
};

}  // namespace plimsoll
