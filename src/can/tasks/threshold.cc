#include "can/tasks/threshold.h"

#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/error.h"
#include "memory/vector.h"

namespace plimsoll {

float threshold_at_rate(std::span<const float> benign_scores, double rate) {
  if (benign_scores.empty()) throw InputError("no benign validation window from which to set a threshold");
  Vector<float, Tag::columns> sorted(benign_scores.begin(), benign_scores.end());
  const auto allowed =
      std::min(static_cast<size_t>(rate * static_cast<double>(sorted.size())), sorted.size() - 1);
  const auto at = sorted.begin() + static_cast<int64_t>(allowed);
  std::nth_element(sorted.begin(), at, sorted.end(), std::greater<>());
  return *at;
}

std::vector<Threshold> thresholds_from(std::span<const float> benign_scores) {
  std::vector<Threshold> thresholds;
  for (const double rate : {0.01, 0.001}) {
    const float level = threshold_at_rate(benign_scores, rate);
    const auto above = std::ranges::count_if(benign_scores, [&](float score) { return score > level; });
    thresholds.push_back(
        {rate, static_cast<double>(above) / static_cast<double>(benign_scores.size()), level});
  }
  return thresholds;
}

}  // namespace plimsoll
