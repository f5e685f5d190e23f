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

/// The arrival curve of one ID in benign traffic: the minimum duration of one gap, of two gaps and of eight
/// gaps in a row (Le Boudec and Thiran, "Network Calculus", 2001, section 1.2). If frames arrive sooner by
/// more than a margin, there are too many of them.
struct Arrival {
  /// A bound of the curve: the minimum span in the traffic it was learned from. If an ID has too few spans of
  /// eight gaps, the bound is their share of the traffic instead, and a span may have been shorter.
  struct Bound {
    int64_t min_ns = 0;  ///< Minimum span; 0 if there is no bound.
    double margin = 0;   ///< Doublings (log2 of the ratio) by which a span may be shorter.

    /// Doublings by which a span is shorter than the bound, divided by the margin; 0 if it is not shorter.
    /// The span must be above 0, as GapBins::gap_of() returns it.
    double excess(int64_t span_ns) const;
  };

  Bound one;
  Bound two;
  Bound eight;  ///< Set only if the ID has neither of the other bounds.
  /// The payload rarely changes, and a frame may come early because its payload changed.
  bool still = false;
};

/// Counts of one ID from which its curve is computed. The counts of several drives can be added.
struct ArrivalCounts {
  static constexpr int kParts = 8;

  /// The spans of one kind: their number, and the minimum span in each part of the traffic, in ascending
  /// order.
  struct Spans {
    static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    int64_t count = 0;
    std::array<int64_t, kParts> min{kNever, kNever, kNever, kNever, kNever, kNever, kNever, kNever};

    /// Adds the spans of another drive and keeps the smallest minima of both. Errors: InputError if the
    /// counts do not fit.
    void add(const Spans& other);
    /// The minimum span, with a margin of at least `margin` (see ArrivalModel::kParts).
    Arrival::Bound bound(double margin) const;
  };

  int64_t frames = 0;
  int64_t changes = 0;  ///< Number of frames whose payload differs from the one before.
  int64_t sum_ns = 0;   ///< Sum of gaps.
  Spans one;
  Spans two;
  Spans eight;

  /// Adds the counts of another drive. Errors: InputError if a sum does not fit.
  void add(const ArrivalCounts& other);
  /// The curve. `traffic_ns` is the duration of all traffic.
  Arrival arrival(int64_t traffic_ns) const;
};

/// The counts of a vehicle's IDs.
struct ArrivalSums {
  int64_t traffic_ns = 0;                        ///< Duration of all runs together.
  Vector<ArrivalCounts, Tag::columns> ids = {};  ///< Empty if no recording has times.

  /// Counts the frames of these runs that are not labelled 1. A run does not continue the one before.
  static ArrivalSums count(const FrameSpans& frames, std::span<const FrameWindow> runs,
                           const Vocabulary& vocabulary);
};

/// The arrival curves of a vehicle's IDs, found in benign traffic. Immutable once learned, so any number of
/// threads may read.
class ArrivalModel {
 public:
  /// Minimum number of spans of one kind. An ID with fewer spans has no bound for this kind.
  static constexpr int64_t kMinSpans = 24;
  /// Number of parts of the traffic, each with its minimum span. The margin is at least the distance from the
  /// second smallest of these minima to the smallest: the next minimum may be lower by as much.
  static constexpr int64_t kParts = ArrivalCounts::kParts;
  /// Default margin in doublings. An added frame halves the span of two gaps, and at least one of the two
  /// gaps next to it is at most half as long as usual.
  static constexpr double kMargin = 0.6;
  /// Minimum margin. It is that of an ID whose period is within kMinMargin / kRegular doublings of its
  /// minimum gap.
  static constexpr double kMinMargin = 0.3;
  static constexpr double kRegular = 10;
  /// Margin for an irregular ID, whose eight gaps vary in length: only a burst that is sixteen times as fast
  /// exceeds it.
  static constexpr double kBurstMargin = 4;
  /// An ID whose payload changes in a smaller share of its frames is `still`.
  static constexpr double kStillShare = 0.1;

  ArrivalModel() = default;

  explicit ArrivalModel(const ArrivalSums& sums);

  bool empty() const { return ids_.empty(); }
  /// The curve of the ID with this index. Has no bounds for an unknown ID.
  const Arrival& for_id(int32_t id) const {
    static constexpr Arrival kNone;
    return static_cast<size_t>(id) < ids_.size() ? ids_[static_cast<size_t>(id)] : kNone;
  }

  /// The model as tensors "profile.arrival_ns" and "profile.arrival_margin" (docs/formats/safetensors.md).
  /// Empty if there is no ID.
  NamedTensors tensors() const;
  /// Reads the result of tensors(); empty if there are no such tensors. Errors: InputError that names a
  /// tensor that has a wrong shape or impossible values.
  static ArrivalModel from_tensors(const NamedTensors& tensors, int32_t ids);

 private:
  Vector<Arrival, Tag::columns> ids_;
};

}  // namespace plimsoll
