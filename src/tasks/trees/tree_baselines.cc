#include "tasks/trees/tree_baselines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace plimsoll {
namespace {

constexpr size_t kMeasures = 6;
constexpr size_t kNearest = 5;
constexpr double kNoVote = 1e-3;  // Added to a share of votes so that its logarithm is finite.

using Measures = std::array<double, kMeasures>;

// Measures one tree, whose parents must have lower numbers.
Measures measures_of(const BlockSource& source, int64_t graph, GraphBlock& block) {
  source.read(std::span(&graph, 1), block);
  const auto nodes = static_cast<size_t>(block.nodes());
  Vector<int32_t, Tag::columns> parent(nodes, -1), children(nodes, 0);
  Vector<double, Tag::columns> depth(nodes, 0);
  for (size_t e = 0; e < block.edges.size(); e += 2) {
    const auto [low, high] = std::minmax(block.edges[e], block.edges[e + 1]);
    if (low != high) parent[static_cast<size_t>(high)] = low;
  }
  const auto distance = [&](size_t a, size_t b) {
    const float* const p = block.pos.data();
    return std::hypot(double{p[3 * a]} - p[3 * b], double{p[3 * a + 1]} - p[3 * b + 1],
                      double{p[3 * a + 2]} - p[3 * b + 2]);
  };
  double length = 0, extent = 0, deepest = 0;
  for (size_t n = 0; n < nodes; ++n) {
    extent = std::max(extent, distance(0, n));
    if (parent[n] < 0) continue;
    const auto above = static_cast<size_t>(parent[n]);
    ++children[above];
    length += distance(above, n);
    deepest = std::max(deepest, depth[n] = depth[above] + 1);
  }
  const auto branches = std::ranges::count_if(children, [](int32_t count) { return count > 1; });
  const Measures found = {static_cast<double>(nodes),
                          static_cast<double>(std::ranges::count(children, 0)),
                          static_cast<double>(branches),
                          length,
                          extent,
                          deepest};
  Measures logarithms;
  std::ranges::transform(found, logarithms.begin(), [](double value) { return std::log1p(value); });
  return logarithms;
}

}  // namespace

TreeBaselines::TreeBaselines(const BlockSource& source, std::span<const GraphShape> shapes,
                             const GraphList& training, int64_t classes)
    : source_(source), mean_(kMeasures, 0), deviation_(kMeasures, 0), classes_(classes) {
  GraphBlock block;
  for (const int64_t g : training) {
    const Measures measures = measures_of(source, g, block);
    shapes_.insert(shapes_.end(), measures.begin(), measures.end());
    labels_.push_back(shapes[static_cast<size_t>(g)].label);
  }
  const auto count = static_cast<double>(training.size());
  for (size_t i = 0; i < shapes_.size(); ++i) mean_[i % kMeasures] += shapes_[i] / count;
  for (size_t i = 0; i < shapes_.size(); ++i)
    deviation_[i % kMeasures] += std::pow(shapes_[i] - mean_[i % kMeasures], 2) / count;
  for (double& deviation : deviation_) deviation = deviation > 0 ? std::sqrt(deviation) : 1;
  for (size_t i = 0; i < shapes_.size(); ++i)
    shapes_[i] = (shapes_[i] - mean_[i % kMeasures]) / deviation_[i % kMeasures];
}

TreeBaselines::Logits TreeBaselines::most_frequent(const GraphList& graphs) const {
  Logits logits;
  for (size_t i = 0; i < graphs.size(); ++i)
    for (int64_t c = 0; c < classes_; ++c)
      logits.push_back(std::log(static_cast<float>(kNoVote + std::ranges::count(labels_, c))));
  return logits;
}

TreeBaselines::Logits TreeBaselines::nearest_in_shape(const GraphList& graphs) const {
  Logits logits;
  GraphBlock block;
  Vector<double, Tag::columns> away(labels_.size());
  Vector<size_t, Tag::columns> order(labels_.size());
  for (const int64_t g : graphs) {
    const Measures measures = measures_of(source_, g, block);
    for (size_t t = 0; t < labels_.size(); ++t) {
      away[t] = 0;
      for (size_t m = 0; m < kMeasures; ++m)
        away[t] += std::pow((measures[m] - mean_[m]) / deviation_[m] - shapes_[t * kMeasures + m], 2);
    }
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t t) { return away[t]; });
    const std::span<const size_t> nearest = std::span(order).first(std::min(kNearest, order.size()));
    for (int64_t c = 0; c < classes_; ++c) {
      const auto votes = std::ranges::count_if(nearest, [&](size_t t) { return labels_[t] == c; });
      logits.push_back(static_cast<float>(
          std::log(kNoVote + static_cast<double>(votes) / static_cast<double>(nearest.size()))));
    }
  }
  return logits;
}

}  // namespace plimsoll
