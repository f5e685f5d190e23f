#include "telemetry/graph_chart.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "telemetry/chart.h"

namespace plimsoll {
namespace {

// In units of the view box, roughly pixels.
constexpr double kSide = 440;
constexpr double kMiddle = kSide / 2;
constexpr double kRadius = 158;
constexpr double kLabelRadius = 178;
constexpr double kMinNode = 3;
constexpr double kMaxNode = 15;
constexpr double kMaxWidth = 7;
constexpr double kArrow = 9;    // Length.
constexpr double kBend = 0.35;  // How far an edge bends towards the middle.
constexpr size_t kMaxLabels = 64;

struct Place {
  double x = 0;
  double y = 0;
};

Place on_circle(size_t node, size_t nodes, double radius) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(node) / static_cast<double>(nodes) - std::numbers::pi / 2;
  return {kMiddle + radius * std::cos(angle), kMiddle + radius * std::sin(angle)};
}

double most_of(const auto& shares) {
  double max = 0;
  for (const auto& each : shares) max = std::max(max, each.share);
  return max > 0 ? max : 1;
}

// Draws a curve that ends at the rim of its target with an arrowhead.
void draw_edge(Markup& out, const GraphChart& chart, const GraphChart::Edge& edge, double relative,
               double node_radius) {
  const auto& nodes = chart.nodes;
  const Place from = on_circle(static_cast<size_t>(edge.source), nodes.size(), kRadius);
  const Place centre = on_circle(static_cast<size_t>(edge.target), nodes.size(), kRadius);
  const Place bend{(from.x + centre.x) / 2 + kBend * (kMiddle - (from.x + centre.x) / 2),
                   (from.y + centre.y) / 2 + kBend * (kMiddle - (from.y + centre.y) / 2)};
  const double away = std::max(1.0, std::hypot(bend.x - centre.x, bend.y - centre.y));
  const Place unit{(bend.x - centre.x) / away, (bend.y - centre.y) / away};
  const Place tip{centre.x + unit.x * node_radius, centre.y + unit.y * node_radius};
  const double half = 2 + 3 * relative;
  const Place base{tip.x + unit.x * kArrow, tip.y + unit.y * kArrow};
  const std::string text = fmt::format("{} to {}: {:.1f} %", nodes[static_cast<size_t>(edge.source)].label,
                                       nodes[static_cast<size_t>(edge.target)].label, edge.share * 100);
  put(out, "<g class=\"flow\" opacity=\"{:.2f}\"><title>{}</title>", 0.18 + 0.75 * relative, escaped(text));
  put(out, "<path d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\" stroke-width=\"{:.2f}\"/>", from.x, from.y,
      bend.x, bend.y, base.x, base.y, 0.6 + (kMaxWidth - 0.6) * relative);
  put(out, "<polygon points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\"/></g>", tip.x, tip.y,
      base.x - unit.y * half, base.y + unit.x * half, base.x + unit.y * half, base.y - unit.x * half);
}

void draw_node(Markup& out, const GraphChart& chart, size_t n, double radius) {
  const GraphChart::Node& node = chart.nodes[n];
  const Place at = on_circle(n, chart.nodes.size(), kRadius);
  put(out, "<circle class=\"cell c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"><title>{}: {:.1f} %</title>",
      node.colour % Stroke::kColours, at.x, at.y, radius, escaped(node.label), node.share * 100);
  put(out, "</circle>");
  if (chart.nodes.size() > kMaxLabels && radius < kMaxNode / 2) return;
  // Along the ray, so that labels of neighbours do not overlap; never upside down.
  const Place label = on_circle(n, chart.nodes.size(), kLabelRadius);
  double degrees = 360.0 * static_cast<double>(n) / static_cast<double>(chart.nodes.size()) - 90;
  const bool left = degrees > 90;
  if (left) degrees -= 180;
  put(out, "<text class=\"tick{}\" transform=\"translate({:.1f} {:.1f}) rotate({:.1f})\" dy=\"4\">{}</text>",
      left ? " end" : "", label.x, label.y, degrees, escaped(node.label));
}

}  // namespace

Markup draw(const GraphChart& chart) {
  std::vector<GraphChart::Edge> edges;
  for (const GraphChart::Edge& edge : chart.edges)
    if (edge.source != edge.target && edge.share > 0) edges.push_back(edge);
  std::ranges::stable_sort(edges, std::greater<>(), &GraphChart::Edge::share);
  if (edges.size() > GraphChart::kMaxEdges) edges.resize(GraphChart::kMaxEdges);
  std::ranges::reverse(edges);  // The largest is drawn on top.
  const double max = most_of(edges);
  const double max_node = most_of(chart.nodes);
  // If the circle is full, nodes must not cover their neighbours.
  const double room =
      std::numbers::pi * kRadius / static_cast<double>(std::max<size_t>(chart.nodes.size(), 1));
  const double max_radius = std::clamp(room, kMinNode, kMaxNode);
  const auto radius = [&](size_t n) {
    return kMinNode + (max_radius - kMinNode) * std::sqrt(chart.nodes[n].share / max_node);
  };
  Markup out;
  put(out, "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"graph of {} nodes\">", kSide, kSide,
      chart.nodes.size());
  for (const GraphChart::Edge& edge : edges)
    draw_edge(out, chart, edge, edge.share / max, radius(static_cast<size_t>(edge.target)));
  for (size_t n = 0; n < chart.nodes.size(); ++n) draw_node(out, chart, n, radius(n));
  put(out, "</svg><ul class=\"legend\">");
  for (const GraphChart::Legend& entry : chart.legend)
    put(out,
        "<li><svg class=\"sample\" viewBox=\"0 0 22 10\"><circle class=\"cell c{}\" cx=\"11\" cy=\"5\" "
        "r=\"5\"/></svg>{}</li>",
        entry.colour, escaped(entry.label));
  put(out, "</ul>");
  return out;
}

}  // namespace plimsoll
