#include "can/tasks/evaluation_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "can/tasks/evaluation_summary.h"

namespace plimsoll {
namespace {

double mean_of(const DetectorSummary& summary, Figure figure) {
  return summary.at(figure)->mean;
}

bool has_verdict(const DetectorSummary& summary) {
  return summary.at(Figure::f1) && summary.at(Figure::recall) && summary.at(Figure::fpr);
}

// The detector that the evaluation is about: the one that will be deployed, otherwise the first model. Null
// if no model has results; rules are not considered.
const DetectorSummary* model_of(const std::vector<DetectorSummary>& detectors) {
  if (const DetectorSummary* const deployed = find_deployed(detectors);
      deployed != nullptr && has_verdict(*deployed))
    return deployed;
  const auto found = std::ranges::find_if(
      detectors, [](const DetectorSummary& detector) { return !detector.rule && has_verdict(detector); });
  return found == detectors.end() ? nullptr : &*found;
}

const DetectorSummary* best_rule(const std::vector<DetectorSummary>& detectors) {
  const DetectorSummary* best = nullptr;
  for (const DetectorSummary& detector : detectors)
    if (detector.rule && has_verdict(detector) &&
        (best == nullptr || mean_of(detector, Figure::f1) > mean_of(*best, Figure::f1)))
      best = &detector;
  return best;
}

// Formats a range: "97.2" or, for several splits, "97.2 to 100.0".
std::string range_text(double min, double max) {
  const std::string low = fmt::format("{:.1f}", min * 100), high = fmt::format("{:.1f}", max * 100);
  return low == high ? low : low + " to " + high;
}

}  // namespace

EvaluationAnswer answer_of(const Evaluation& evaluation) {
  const auto is_test = [](const EvaluatedSplit& split) { return split.all.name != "validation"; };
  const bool any_test = std::ranges::any_of(evaluation.splits, is_test);
  EvaluationAnswer answer;
  std::vector<std::string> names;
  std::string model_name, rule_text;
  double min_recall = 1, max_recall = 0, max_fpr = 0, lowest = 2;
  std::optional<double> max_hourly;
  for (const EvaluatedSplit& split : evaluation.splits) {
    if (any_test && !is_test(split)) continue;
    const auto detectors = summarise_strictest(split.all.detectors);
    const DetectorSummary* const model = model_of(detectors);
    if (model == nullptr) continue;
    model_name = label_of(*model);
    names.push_back(split.all.name);
    min_recall = std::min(min_recall, mean_of(*model, Figure::recall));
    max_recall = std::max(max_recall, mean_of(*model, Figure::recall));
    max_fpr = std::max(max_fpr, mean_of(*model, Figure::fpr));
    if (const auto& hourly = model->at(Figure::false_alarms_per_hour))
      max_hourly = std::max(max_hourly.value_or(0), hourly->mean);
    if (mean_of(*model, Figure::f1) >= lowest) continue;
    lowest = mean_of(*model, Figure::f1);
    answer.hardest = &split;
    const DetectorSummary* const rule = best_rule(detectors);
    rule_text = rule == nullptr ? ""
                                : fmt::format("; the best simple rule, {}, reaches {:.3f}", rule->name,
                                              mean_of(*rule, Figure::f1));
  }
  if (names.empty()) return answer;
  const bool is_single = names.size() == 1;
  answer.text = fmt::format(
      "{} finds {} % of the attack windows of {}, with false alarms in {}{:.2f} % of benign ones{}. ",
      model_name, range_text(min_recall, max_recall),
      is_single ? names.front() : fmt::format("{} splits", names.size()), is_single ? "" : "at most ",
      max_fpr * 100,
      max_hourly
          ? fmt::format(", {:.3g} an hour of benign traffic, {:.3g} a day", *max_hourly, 24 * *max_hourly)
          : "");
  answer.text +=
      is_single ? "Its F1 is" : fmt::format("On the hardest, {}, its F1 is", answer.hardest->all.name);
  answer.text += fmt::format(" {:.3f}{}.", lowest, rule_text);
  return answer;
}

}  // namespace plimsoll
