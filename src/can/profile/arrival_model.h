#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "can/frames/frames.h"
#include "can/profile/vocabulary.h"
#include "memory/vector.h"
#include "store/named_tensors.h"

namespace plimsoll {

struct FrameWindow;

/// How soon frames of one ID come in benign traffic, as an arrival curve: the least time that one gap, two
/// gaps and eight gaps in a row take (Le Boudec and Thiran, "Network Calculus", 2001, section 1.2). What
/// comes sooner by more than a margin is a frame too many.
struct Arrival {
  /// A bound of the curve. Of the traffic it was learned from, nothing exceeds it.
  struct Bound {
    int64_t min_ns = 0;  ///< 0: there is no bound
    double margin = 0;   ///< doublings that a span may be shorter by

    /// Doublings by which a span is shorter than the bound, in margins; 0 if it is not.
    double excess(int64_t span_ns) const;
  };

  Bound one;
  Bound two;
  Bound eight;         ///< of an ID that has neither of the others
  bool still = false;  ///< the payload rarely changes: a frame may come early because it did
};

/// What is counted of one ID to find its curve: of several drives it adds up.
struct ArrivalCounts {
  static constexpr int kParts = 8;

  /// The spans of one kind: how many, and the least ones of the parts of the traffic, ascending.
  struct Spans {
    static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    int64_t count = 0;
    std::array<int64_t, kParts> min{kNever, kNever, kNever, kNever, kNever, kNever, kNever, kNever};

    /// Of another drive: the least ones of the parts of both. Errors: InputError where counts do not fit.
    void add(const Spans& other);
    /// The least, and as far below it the next record as it is below the second.
    Arrival::Bound bound(double margin) const;
  };

  int64_t frames = 0;
  int64_t changes = 0;  ///< of the payload
  int64_t sum_ns = 0;   ///< of gaps
  Spans one;
  Spans two;
  Spans eight;

  /// Errors: InputError where the sum does not fit.
  void add(const ArrivalCounts& other);
  /// `traffic_ns`: of all of it.
  Arrival arrival(int64_t traffic_ns) const;
};

/// The counts of a vehicle's IDs.
struct ArrivalSums {
  int64_t traffic_ns = 0;
  Vector<ArrivalCounts, Tag::columns> ids = {};  ///< none where no recording has times

  /// From the frames of these runs that are not labelled 1. A run does not go on from the one before.
  static ArrivalSums count(const FrameSpans& frames, std::span<const FrameWindow> runs,
                           const Vocabulary& vocabulary);
};

/// The arrival curves of a vehicle's IDs, found in benign traffic. Immutable once learned: any number of
/// threads may read.
class ArrivalModel {
 public:
  /// An ID with fewer spans has no bound for them.
  static constexpr int64_t kFewest = 24;
  /// The traffic has so many parts, each with its least span. The margin is no less than the way from the
  /// second least of these to the least: the next record may lie as far below.
  static constexpr int64_t kParts = ArrivalCounts::kParts;
  /// Doublings. An added frame halves two gaps, and one of the two gaps that it makes.
  static constexpr double kMargin = 0.6;
  /// Of an ID that is so regular that its period is this many times closer to its least gap.
  static constexpr double kMinMargin = 0.3;
  static constexpr double kRegular = 10;
  /// Of an irregular ID, whose eight gaps may take any time: a burst is sixteen times as fast.
  static constexpr double kBurstMargin = 4;
  /// An ID whose payload changes in a smaller share of its frames stands still.
  static constexpr double kStillShare = 0.1;

  ArrivalModel() = default;

  explicit ArrivalModel(const ArrivalSums& sums);

  bool empty() const { return ids_.empty(); }
  /// Of the ID of this index; no bounds for an unknown one.
  const Arrival& of(int32_t id) const {
    static constexpr Arrival kNone;
    return static_cast<size_t>(id) < ids_.size() ? ids_[static_cast<size_t>(id)] : kNone;
  }

  /// As tensors "profile.arrival_ns" and "profile.arrival_margin" (docs/formats/safetensors.md); none where
  /// there is no ID.
  NamedTensors tensors() const;
  /// From such tensors; empty where there are none. Errors: InputError that names a tensor that is misshapen
  /// or holds what no model has.
  static ArrivalModel from_tensors(const NamedTensors& tensors, int32_t ids);

 private:
  Vector<Arrival, Tag::columns> ids_;
};

}  // namespace plimsoll
