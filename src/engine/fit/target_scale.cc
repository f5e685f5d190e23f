#include "engine/fit/target_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/interrupt.h"
#include "memory/c_heap.h"

namespace plimsoll {
namespace {

// Running mean and variance of one target.
struct Moments {
  int64_t count = 0;
  double mean = 0;
  double squares = 0;  // Sum of squared differences to the mean.

  void add(double value) {
    ++count;
    const double difference = value - mean;
    mean += difference / static_cast<double>(count);
    squares += difference * (value - mean);
  }
  float deviation() const {
    const auto found = static_cast<float>(count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count)));
    return found > 0 ? found : 1;
  }
};

InputError infinite_target(const std::string& place) {
  return InputError(
      fmt::format("{}: a target is infinite, expected a number, or NaN if it is unknown; fix the source of "
                  "the data set, and look for more such values with `plimsoll verify`",
                  place));
}

// Calls take(column, value) for each known target. Returns how many there are.
template <typename Take>
int64_t each_target(const BlockSource& source, const GraphList& graphs, const Take& take) {
  const ItemRows targets = source.widths().targets;
  int64_t known = 0;
  GraphBlock block;
  for (const int64_t graph : graphs) {
    throw_if_interrupted("the scale of targets was measured");
    source.read(std::span(&graph, 1), block);
    int64_t of_graph = 0;
    for (size_t i = 0; i < block.targets.size(); ++i) {
      const float value = block.targets[i];
      if (std::isinf(value)) throw infinite_target(fmt::format("graph {}", graph));
      if (std::isnan(value)) continue;
      ++of_graph;
      take(i % static_cast<size_t>(targets.width), value);
    }
    if (of_graph == 0 && !targets.of_nodes)
      throw InputError(fmt::format(
          "graph {}: all its targets are unknown (NaN), but graphs for training or validation need at least "
          "one; give such graphs a separate split (docs/regression.md)",
          graph));
    known += of_graph;
  }
  return known;
}

TargetScale scale_from(const std::vector<Moments>& moments) {
  TargetScale scale;
  for (const Moments& of_one : moments) {
    scale.mean.push_back(static_cast<float>(of_one.mean));
    scale.deviation.push_back(of_one.deviation());
  }
  return scale;
}

}  // namespace

TargetScale target_scale(const GraphView& graph, std::span<const int64_t> nodes) {
  std::vector<Moments> moments(static_cast<size_t>(graph.target_width()));
  bool known = false;
  for (const int64_t node : nodes) {
    throw_if_interrupted("the scale of targets was measured");
    const std::span<const float> targets = graph.targets_of(node);
    for (size_t column = 0; column < targets.size(); ++column) {
      if (std::isinf(targets[column])) throw infinite_target(fmt::format("node {}", node));
      if (std::isnan(targets[column])) continue;
      known = true;
      moments[column].add(targets[column]);
    }
  }
  if (!known)
    throw InputError("no node of the split 'train' has a known number to predict (column node_target)");
  return scale_from(moments);
}

TargetScale target_scale(const BlockSource& source, const TrainingSplit& split) {
  std::vector<Moments> moments(static_cast<size_t>(source.widths().targets.width));
  const auto require = [](int64_t known, const char* side) {
    if (known == 0)
      throw InputError(fmt::format("no node of the {} graphs has a target (column node_target)", side));
  };
  require(
      each_target(source, split.training, [&](size_t column, float value) { moments[column].add(value); }),
      "training");
  require(each_target(source, split.validation, [](size_t, float) {}), "validation");
  give_back_freed_memory();
  return scale_from(moments);
}

}  // namespace plimsoll
