#pragma once

#include <string>
#include <vector>

#include "telemetry/markup.h"

namespace plimsoll {

/// A small directed graph on a circle, as inline SVG in the style of telemetry/chart.h. A larger share makes
/// a larger node and a wider edge.
struct GraphChart {
  struct Node {
    std::string label;
    double share = 0;  ///< 0 .. 1.
    int colour = 0;    ///< One of Stroke::kColours.
  };
  struct Edge {
    int32_t source = 0;  ///< Index into `nodes`.
    int32_t target = 0;
    double share = 0;  ///< 0 .. 1; an edge without a share is not drawn.
  };
  struct Legend {
    std::string label;
    int colour = 0;  ///< Below Stroke::kColours.
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;  ///< Edges from a node to itself are not drawn.
  std::vector<Legend> legend;
  static constexpr size_t kMaxEdges = 64;  ///< Only the edges with the largest shares are drawn.
};
Markup draw(const GraphChart& chart);

}  // namespace plimsoll
