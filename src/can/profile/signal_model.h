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

/// The first eight bytes of a payload, all of which are read, as a big-endian number. Bit 0 is the highest
/// bit of the first byte.
uint64_t payload_bits(const uint8_t* data);

/// Bits of an ID's payload that hold one value, and how this value behaves in benign traffic: each step is
/// predicted from the step before. Values are a ring of size 2^bits, so a counter or a sum that overflows, or
/// a number that passes zero, makes no large step.
struct Signal {
  int32_t id = 0;         ///< Index of its CAN ID.
  uint8_t first_bit = 0;  ///< First bit in the payload.
  uint8_t bits = 0;
  double slope = 0;  ///< Slope of a step as a linear function of the step before.
  double offset = 0;
  double max = 0;  ///< Maximum difference of a benign step from its prediction.
  // Benign extremes with which can/score/lone_signals.h compares. In files of earlier versions they are 0,
  // and max_mean is -1.
  int32_t longest_hold = 0;  ///< Maximum frames in a row with one value.
  uint32_t min = 0;          ///< Minimum value in benign traffic.
  uint32_t greatest = 0;
  /// Maximum mean of RecentSurprises::kMax surprises in a row; below 0 if there were too few.
  double max_mean = -1;

  uint32_t value(uint64_t payload) const {
    return static_cast<uint32_t>(payload >> (64 - first_bit - bits) & ((uint64_t{1} << bits) - 1));
  }
  /// The step from `before` to `after`, the shorter way round the ring.
  int32_t step(uint32_t before, uint32_t after) const {
    const int unused = 32 - bits;
    return static_cast<int32_t>((after - before) << unused) >> unused;
  }
  /// Distance of the last of three payloads from its prediction by the other two.
  double surprise(uint64_t before_last, uint64_t last, uint64_t now) const;
};

/// Sums over pairs of consecutive steps, from which a regression line from step to step follows. The sums of
/// several drives can be added.
struct SignalLine {
  static constexpr size_t kNumbers = 6;

  double pairs = 0;     ///< Number of pairs.
  double first = 0;     ///< Sum of the first steps.
  double second = 0;    ///< Sum of the second steps.
  double squares = 0;   ///< Sum of the squares of the first steps.
  double products = 0;  ///< Sum of the products of both steps.
  double max_step = 0;  ///< Maximum absolute value of a first step.

  void add(double step, double next);
  void add(const SignalLine& other);
  /// Sets the slope and the offset of the signal. Needs a pair.
  void put(Signal& signal) const;
};

/// The signals of a vehicle's payloads, found in benign traffic. Boundaries are found as in READ (Marchetti
/// and Stabili, IEEE TIFS 2019): within a number, lower bits flip more often. Immutable once learned, so any
/// number of threads may read.
class SignalModel {
 public:
  /// Maximum bits of a signal, and minimum frames of an ID that has signals.
  static constexpr int kMaxBits = 24;
  static constexpr int64_t kMinFrames = 24;
  /// Minimum number of benign means of surprises from which max_mean is set.
  static constexpr int64_t kMinMeans = 64;

  SignalModel() = default;

  /// `signals` are sorted by ID; IDs are in [0, ids).
  SignalModel(Vector<Signal, Tag::columns> signals, int32_t ids);
  /// Learns from the frames of these runs that are not labelled 1. A run does not continue the one before.
  /// `lines` receives one entry per signal.
  static SignalModel learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                           const Vocabulary& vocabulary, Vector<SignalLine, Tag::columns>& lines);

  std::span<const Signal> signals() const { return signals_; }
  /// The signals of the ID with this index. Empty for an unknown ID.
  std::span<const Signal> for_id(int32_t id) const { return ranges_.for_id(signals(), id); }

  /// The model as tensors "profile.signal_place", "profile.signal_steps", "profile.signal_holds" and
  /// "profile.signal_means" (docs/formats/safetensors.md). Empty if there is no signal.
  NamedTensors tensors() const;
  /// Reads the result of tensors(); empty if there are no such tensors. Errors: InputError that names a
  /// tensor that has a wrong shape or impossible values.
  static SignalModel from_tensors(const NamedTensors& tensors, int32_t ids);

 private:
  Vector<Signal, Tag::columns> signals_;  // Sorted by ID.
  IdRanges ranges_;
};

}  // namespace plimsoll
