#include "tasks/metrics/metrics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "memory/vector.h"
#include "tasks/metrics/ranking.h"

namespace plimsoll {
namespace {

std::optional<double> share(int64_t part, int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void ConfusionCounts::add(bool truth, bool predicted) {
  ++(truth ? (predicted ? true_positives : false_negatives) : (predicted ? false_positives : true_negatives));
}

std::optional<double> ConfusionCounts::precision() const {
  if (true_positives + false_negatives == 0) return std::nullopt;
  return share(true_positives, true_positives + false_positives);
}
std::optional<double> ConfusionCounts::recall() const {
  return share(true_positives, true_positives + false_negatives);
}
std::optional<double> ConfusionCounts::false_positive_rate() const {
  return share(false_positives, false_positives + true_negatives);
}
std::optional<double> ConfusionCounts::f1() const {
  if (true_positives + false_negatives == 0) return std::nullopt;
  return share(2 * true_positives, 2 * true_positives + false_positives + false_negatives);
}

std::optional<double> ConfusionCounts::balanced_accuracy() const {
  const auto hits = recall();
  const auto false_alarms = false_positive_rate();
  if (!hits || !false_alarms) return std::nullopt;
  return (*hits + 1 - *false_alarms) / 2;
}

std::optional<double> ConfusionCounts::mcc() const {
  const auto tp = static_cast<double>(true_positives);
  const auto fp = static_cast<double>(false_positives);
  const auto tn = static_cast<double>(true_negatives);
  const auto fn = static_cast<double>(false_negatives);
  if (tp + fn == 0 || tn + fp == 0) return std::nullopt;
  if (tp + fp == 0 || tn + fn == 0) return 0;
  return (tp * tn - fp * fn) / (std::sqrt((tp + fp) * (tp + fn)) * std::sqrt((tn + fp) * (tn + fn)));
}

std::optional<double> roc_auc(std::span<const float> scores, std::span<const uint8_t> truth) {
  return Ranking(scores, truth).auc();
}

}  // namespace plimsoll
