#pragma once

#include <cstddef>

#include "can/frames/frames.h"

namespace plimsoll::behaviour {

/// The columns of behaviour features in a node's row (docs/behaviour-features.md).
enum NodeColumn : size_t {
  kIdIndex,
  kKnown,
  kExtended,
  kCountShare,
  kCountChange,
  kSeenBefore,
  kGapMean,
  kGapMin,
  kGapMax,
  kGapSpread,
  kGapChange,
  kGapMeanDeviation,
  kGapMinDeviation,
  kGapMaxDeviation,
  kLength,
  kLengthChange,
  kLengthUnusual,
  kEmptyShare,
  kOnesShare,
  kChangedBits,
  kSamePayload,
  kByteChange,
  kByteDeviation = kByteChange + kPayloadBytes,
  kFirstPosition = kByteDeviation + kPayloadBytes,
  kLastPosition,
  kFirstTime,
  kLastTime,
  kInDegree,
  kOutDegree,
  kRepeatShare,
  kWindowGap,
  kWindowGapChange,
  kWindowNodes,
  kEarly,
  kEarlyShare,
  kSurplus,
  kSilence,
  kFixedBits,
  kJumps,
  kCounterBroken,
  kStill,
  kNodeColumns
};

/// The columns of behaviour features in an edge's row.
enum EdgeColumn : size_t {
  kEdgeCountShare,
  kSourceShare,
  kTargetShare,
  kKnownTransition,
  kEdgeGapMean,
  kEdgeGapMin,
  kEdgeGapMax,
  kEdgeFirstPosition,
  kEdgeLastPosition,
  kPositionGap,
  kHasReverse,
  kEdgeColumns
};

/// Deviations from a profile, in standard deviations, and ratios, in doublings (log2), are clipped to
/// -kMaxUnits .. kMaxUnits and scaled to -1 .. 1.
inline constexpr double kMaxUnits = 8;
/// Difference of log2(1 + microseconds) between spans whose scaled_log() is 1 and 0: log2(1 + 1e7).
inline constexpr double kDoublings = 23.25349680848103;

}  // namespace plimsoll::behaviour
