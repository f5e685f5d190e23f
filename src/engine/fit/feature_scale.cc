#include "engine/fit/feature_scale.h"

#include <fmt/format.h>

#include <cmath>
#include <ranges>

#include "base/interrupt.h"
#include "base/units.h"
#include "memory/c_heap.h"

namespace plimsoll {
namespace {

constexpr const char* kWork = "the scale of features was measured";

// Running means and variances of all features.
class FeatureMoments {
 public:
  explicit FeatureMoments(int64_t features)
      : mean_(static_cast<size_t>(features)), squares_(static_cast<size_t>(features)) {}

  void add(std::span<const float> row) {
    const double share = 1 / static_cast<double>(++count_);
    for (size_t f = 0; f < row.size(); ++f) {
      const double difference = row[f] - mean_[f];
      mean_[f] += difference * share;
      squares_[f] += difference * (row[f] - mean_[f]);
    }
  }
  FeatureScale scale() const {
    FeatureScale scale;
    for (size_t f = 0; f < mean_.size(); ++f) {
      scale.mean.push_back(static_cast<float>(mean_[f]));
      scale.deviation.push_back(
          static_cast<float>(count_ == 0 ? 0 : std::sqrt(squares_[f] / static_cast<double>(count_))));
    }
    return scale;
  }

 private:
  int64_t count_ = 0;
  std::vector<double> mean_;
  std::vector<double> squares_;  // Sums of squared differences to the means.
};

template <typename Nodes>
FeatureScale scale_of_nodes(const GraphView& graph, const Nodes& nodes) {
  FeatureMoments moments(graph.node_features());
  std::vector<float> row(static_cast<size_t>(graph.node_features()));
  for (const int64_t node : nodes) {
    throw_if_interrupted(kWork);
    graph.copy_x(node, row);
    moments.add(row);
  }
  return moments.scale();
}

}  // namespace

FeatureScale feature_scale(const BlockSource& source, std::span<const int64_t> graphs) {
  const auto features = static_cast<size_t>(source.node_features());
  FeatureMoments moments(source.node_features());
  {
    GraphBlock block;
    for (const int64_t graph : graphs) {
      throw_if_interrupted(kWork);
      source.read(std::span(&graph, 1), block);
      for (std::span<const float> x = block.x; !x.empty(); x = x.subspan(features))
        moments.add(x.first(features));
    }
  }
  give_back_freed_memory();
  return moments.scale();
}

FeatureScale feature_scale(const GraphView& graph, std::span<const int64_t> nodes) {
  return scale_of_nodes(graph, nodes);
}

FeatureScale feature_scale(const GraphView& graph) {
  return scale_of_nodes(graph, std::views::iota(int64_t{0}, graph.nodes()));
}

std::string unequal_scales(const FeatureScale& scale, size_t first, const std::vector<std::string>& names) {
  constexpr float kMaxRatio = 1000;
  const std::vector<float>& deviation = scale.deviation;
  size_t most = deviation.size(), least = deviation.size();
  for (size_t f = first; f < deviation.size(); ++f) {
    if (!(deviation[f] > 0)) continue;
    if (most == deviation.size() || deviation[f] > deviation[most]) most = f;
    if (least == deviation.size() || deviation[f] < deviation[least]) least = f;
  }
  if (most == deviation.size() || deviation[most] <= kMaxRatio * deviation[least]) return {};
  const auto name = [&](size_t f) {
    return f < names.size() ? fmt::format("'{}'", names[f]) : std::to_string(f);
  };
  const double ratio = double{deviation[most]} / double{deviation[least]};
  return fmt::format(
      "node feature {} varies {} times as much as {}, which the model may therefore ignore; set "
      "features.standardize: true",
      name(most), ratio < 1e15 ? format_count(std::llround(ratio)) : fmt::format("{:.0e}", ratio),
      name(least));
}

}  // namespace plimsoll
