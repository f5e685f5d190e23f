#include "can/tasks/evaluation_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  spread.seeds = static_cast<int64_t>(values.size());
  const auto n = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / n;
  if (values.size() < 2) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / (n - 1));
  return spread;
}

}  // namespace

const char* figure_key(Figure figure) {
  static constexpr std::array<const char*, kFigures> kKeys = {"f1",
                                                              "precision",
                                                              "recall",
                                                              "fpr",
                                                              "auc",
                                                              "pr_auc",
                                                              "mcc",
                                                              "balanced_accuracy",
                                                              "delay_frames",
                                                              "delay_ms",
                                                              "false_alarms_per_hour"};
  return kKeys[static_cast<size_t>(figure)];
}

std::optional<double> value_of(Figure figure, const DetectorFigures& figures) {
  switch (figure) {
    case Figure::f1:
      return figures.confusion.f1();
    case Figure::precision:
      return figures.confusion.precision();
    case Figure::recall:
      return figures.confusion.recall();
    case Figure::fpr:
      return figures.confusion.false_positive_rate();
    case Figure::auc:
      return figures.auc;
    case Figure::pr_auc:
      return figures.pr_auc;
    case Figure::mcc:
      return figures.confusion.mcc();
    case Figure::balanced_accuracy:
      return figures.confusion.balanced_accuracy();
    case Figure::delay_frames:
      return figures.delay.frames();
    case Figure::delay_milliseconds:
      return figures.delay.milliseconds();
    case Figure::false_alarms_per_hour:
      return figures.false_alarms_per_hour();
  }
  return std::nullopt;
}

std::vector<DetectorSummary> summarise(const std::vector<DetectorFigures>& detectors) {
  std::vector<DetectorSummary> summaries;
  for (const DetectorFigures& figures : detectors) {
    auto at = std::ranges::find_if(summaries, [&](const auto& summary) { return summary.is_of(figures); });
    if (at == summaries.end())
      at = summaries.insert(at, {figures.name, figures.rule, figures.threshold.target_rate, {}, {}, 0, 0});
    at->seeds.push_back(figures.seed);
    at->attacked += figures.delay.recordings;
    at->missed += figures.delay.recordings - figures.delay.detected;
  }
  for (DetectorSummary& summary : summaries)
    for (size_t f = 0; f < kFigures; ++f) {
      std::vector<double> values;
      for (const DetectorFigures& figures : detectors)
        if (summary.is_of(figures))
          if (const auto value = value_of(static_cast<Figure>(f), figures)) values.push_back(*value);
      if (!values.empty()) summary.figures[f] = spread_of(values);
    }
  return summaries;
}

std::vector<DetectorSummary> summarise_strictest(const std::vector<DetectorFigures>& detectors) {
  std::vector<DetectorSummary> kept;
  for (const DetectorSummary& summary : summarise(detectors)) {
    const auto same = std::ranges::find(kept, summary.name, &DetectorSummary::name);
    if (same == kept.end())
      kept.push_back(summary);
    else if (summary.target_rate < same->target_rate)
      *same = summary;
  }
  return kept;
}

const DetectorSummary* find_deployed(const std::vector<DetectorSummary>& detectors) {
  for (const char* const name : {"fused", "gat_student", "gat"}) {
    const DetectorSummary* found = nullptr;
    for (const DetectorSummary& detector : detectors)
      if (detector.name == name && (found == nullptr || detector.target_rate < found->target_rate))
        found = &detector;
    if (found != nullptr) return found;
  }
  return nullptr;
}

std::string label_of(const DetectorSummary& summary) {
  if (summary.target_rate == 0) return summary.name;
  return fmt::format("{} at {:g} %", summary.name, summary.target_rate * 100);
}

}  // namespace plimsoll
