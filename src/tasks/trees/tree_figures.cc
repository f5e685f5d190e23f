#include "tasks/trees/tree_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "telemetry/tree_chart.h"

namespace plimsoll {
namespace {

// Returns the two axes, of 0, 1 and 2, along which the extent is largest.
std::array<size_t, 2> widest_axes(std::span<const float> pos) {
  if (pos.empty()) return {0, 1};
  std::array<float, 3> extent{};
  for (size_t axis = 0; axis < 3; ++axis) {
    float low = pos[axis], high = pos[axis];
    for (size_t i = axis; i < pos.size(); i += 3) {
      low = std::min(low, pos[i]);
      high = std::max(high, pos[i]);
    }
    extent[axis] = high - low;
  }
  if (extent[2] <= extent[0] && extent[2] <= extent[1]) return {0, 1};
  return extent[1] <= extent[0] ? std::array<size_t, 2>{0, 2} : std::array<size_t, 2>{1, 2};
}

Markup drawing_of(const BlockSource& source, int64_t graph, int32_t label) {
  GraphBlock block;
  source.read(std::span(&graph, 1), block);
  const auto [x, y] = widest_axes(block.pos);
  TreeChart chart;
  chart.colour = label;
  chart.parent.assign(static_cast<size_t>(block.nodes()), -1);
  for (size_t n = 0; n < chart.parent.size(); ++n)
    chart.nodes.push_back({block.pos[3 * n + x], block.pos[3 * n + y]});
  for (size_t e = 0; e < block.edges.size(); e += 2) {
    const auto [low, high] = std::minmax(block.edges[e], block.edges[e + 1]);
    if (low != high) chart.parent[static_cast<size_t>(high)] = low;
  }
  return draw(chart);
}

// Returns indices into a list, one graph of each class in turn: the first graph of each class precedes the
// second graph of any class.
std::vector<size_t> in_turn(const GraphList& graphs, std::span<const GraphShape> shapes, size_t max) {
  std::map<int32_t, std::vector<size_t>> by_class;
  for (size_t i = 0; i < graphs.size(); ++i)
    by_class[shapes[static_cast<size_t>(graphs[i])].label].push_back(i);
  std::vector<size_t> places;
  for (size_t round = 0; places.size() < std::min(max, graphs.size()); ++round)
    for (const auto& [label, places_of_class] : by_class)
      if (round < places_of_class.size() && places.size() < max) places.push_back(places_of_class[round]);
  return places;
}

}  // namespace

std::vector<Report::Figure> tree_figures(const BlockSource& source, std::span<const GraphShape> shapes,
                                         const TreePredictions& predictions, size_t max) {
  std::vector<Report::Figure> figures;
  const size_t classes = predictions.classes.size();
  for (const size_t place : in_turn(predictions.graphs, shapes, max)) {
    const int64_t graph = predictions.graphs[place];
    const int32_t label = shapes[static_cast<size_t>(graph)].label;
    const std::span<const float> row = predictions.logits.subspan(place * classes, classes);
    const auto highest = std::ranges::max_element(row);
    double sum = 0;
    for (const float logit : row) sum += std::exp(double{logit} - *highest);
    const std::string& true_class = predictions.classes[static_cast<size_t>(label)];
    const std::string& predicted_class = predictions.classes[static_cast<size_t>(highest - row.begin())];
    figures.push_back(
        {fmt::format("{} {}: predicted {}, {:.0f} %", true_class, graph, predicted_class, 100 / sum),
         drawing_of(source, graph, label), true});
  }
  return figures;
}

}  // namespace plimsoll
