#pragma once

#include <cstdint>

#include "memory/vector.h"
#include "telemetry/chart.h"
#include "telemetry/markup.h"

namespace plimsoll {

/// A tree as it lies in a plane, as inline SVG in the style of telemetry/chart.h. Points along a stretch that
/// would fall on each other are left out.
struct TreeChart {
  Vector<ChartPoint, Tag::output> nodes;
  Vector<int32_t, Tag::output> parent;  ///< of each node, a lower number; -1 of a root
  int colour = 0;                       ///< one of Stroke::kColours
};
Markup draw(const TreeChart& chart);

}  // namespace plimsoll
