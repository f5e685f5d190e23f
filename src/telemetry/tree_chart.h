#pragma once

#include <cstdint>

#include "memory/vector.h"
#include "telemetry/chart.h"
#include "telemetry/markup.h"

namespace plimsoll {

/// A tree in a plane, as inline SVG in the style of telemetry/chart.h. Points of a branch that would be drawn
/// at the same place are left out. A circle marks node 0.
struct TreeChart {
  Vector<ChartPoint, Tag::output> nodes;
  /// The parent of each node, which has a lower number; -1 for a root.
  Vector<int32_t, Tag::output> parent;
  int colour = 0;  ///< One of Stroke::kColours.
};
Markup draw(const TreeChart& chart);

}  // namespace plimsoll
