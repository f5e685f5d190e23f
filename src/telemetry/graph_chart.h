#pragma once

#include <string>
#include <vector>

#include "telemetry/markup.h"

namespace plimsoll {

/// A small directed graph on a circle, as inline SVG in the style of telemetry/chart.h: the larger a share,
/// the larger the node and the wider the edge.
struct GraphChart {
  struct Node {
    std::string label;
    double share = 0;  ///< 0 .. 1
    int colour = 0;    ///< one of Stroke::kColours
  };
  struct Edge {
    int32_t source = 0;  ///< of `nodes`
    int32_t target = 0;
    double share = 0;
  };
  struct Legend {
    std::string label;
    int colour = 0;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;  ///< an edge from a node to itself is not drawn
  std::vector<Legend> legend;
  static constexpr size_t kMaxEdges = 64;  ///< those of the greatest shares are drawn
};
Markup draw(const GraphChart& chart);

}  // namespace plimsoll
