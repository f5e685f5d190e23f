#include "telemetry/tree_chart.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

// In units of the view box.
constexpr double kTreeSide = 600;
constexpr double kTreeMargin = 12;
constexpr int64_t kMinStep = 3;

struct Cell {
  int64_t x = 0;
  int64_t y = 0;
};

// Converts points to whole units. The larger extent fills the whole side, and y grows upwards.
Vector<Cell, Tag::output> cells_of(const Vector<ChartPoint, Tag::output>& nodes) {
  const auto [left, right] = std::ranges::minmax_element(nodes, {}, &ChartPoint::x);
  const auto [bottom, top] = std::ranges::minmax_element(nodes, {}, &ChartPoint::y);
  const double extent = std::max(right->x - left->x, top->y - bottom->y);
  const double scale = extent > 0 ? (kTreeSide - 2 * kTreeMargin) / extent : 0;
  Vector<Cell, Tag::output> cells;
  for (const ChartPoint& node : nodes)
    cells.push_back({std::lround(kTreeSide / 2 + scale * (node.x - (left->x + right->x) / 2)),
                     std::lround(kTreeSide / 2 - scale * (node.y - (bottom->y + top->y) / 2))});
  return cells;
}

bool are_near(const Cell& a, const Cell& b) {
  return std::abs(a.x - b.x) < kMinStep && std::abs(a.y - b.y) < kMinStep;
}

}  // namespace

Markup draw(const TreeChart& chart) {
  Markup out;
  put(out, "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"tree of {} nodes\">", kTreeSide, kTreeSide,
      chart.nodes.size());
  if (chart.nodes.empty()) return out + "</svg>";
  const Vector<Cell, Tag::output> cells = cells_of(chart.nodes);
  Vector<int32_t, Tag::output> children(cells.size());
  for (const int32_t parent : chart.parent)
    if (parent >= 0) ++children[static_cast<size_t>(parent)];
  put(out, "<path class=\"line branch c{}\" d=\"", chart.colour % Stroke::kColours);
  size_t drawn_to = cells.size();                   // The node at which the pen is, or cells.size().
  Vector<size_t, Tag::output> shown(cells.size());  // For each node, the node that is drawn in its stead.
  for (size_t n = 0; n < cells.size(); ++n) {
    shown[n] = n;
    if (chart.parent[n] < 0) continue;
    const size_t from = shown[static_cast<size_t>(chart.parent[n])];
    if (children[n] == 1 && are_near(cells[from], cells[n])) {
      shown[n] = from;
      continue;
    }
    if (from != drawn_to) put(out, "M{} {}", cells[from].x, cells[from].y);
    put(out, "l{} {}", cells[n].x - cells[from].x, cells[n].y - cells[from].y);
    drawn_to = n;
  }
  put(out, "\"/><circle class=\"mark filled c{}\" cx=\"{}\" cy=\"{}\" r=\"6\"/></svg>",
      chart.colour % Stroke::kColours, cells[0].x, cells[0].y);
  return out;
}

}  // namespace plimsoll
