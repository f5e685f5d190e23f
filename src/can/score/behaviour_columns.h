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

/// Deviations from a profile and changes against the look-back are clipped to this many units and scaled to
/// -1 .. 1.
inline constexpr double kMaxUnits = 8;
/// Doublings between the values 0 and 1 of scaled_log: log2(1 + 1e7).
inline constexpr double kDoublings = 23.25349680848103;

}  // namespace plimsoll::behaviour
