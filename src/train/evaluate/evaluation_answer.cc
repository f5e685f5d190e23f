#include "train/evaluate/evaluation_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "train/evaluate/evaluation_summary.h"

namespace plimsoll {
namespace {

double mean_of(const DetectorSummary& summary, Figure figure) {
  return summary.at(figure)->mean;
}

bool has_verdict(const DetectorSummary& summary) {
  return summary.at(Figure::f1) && summary.at(Figure::recall) && summary.at(Figure::fpr);
}

// The first model is the one that evaluation is about; of rules the best is the one to beat.
const DetectorSummary* first_model(const std::vector<DetectorSummary>& detectors) {
  const auto found = std::ranges::find_if(
      detectors, [](const DetectorSummary& one) { return !one.rule && has_verdict(one); });
  return found == detectors.end() ? nullptr : &*found;
}

const DetectorSummary* best_rule(const std::vector<DetectorSummary>& detectors) {
  const DetectorSummary* best = nullptr;
  for (const DetectorSummary& one : detectors)
    if (one.rule && has_verdict(one) &&
        (best == nullptr || mean_of(one, Figure::f1) > mean_of(*best, Figure::f1)))
      best = &one;
  return best;
}

}  // namespace

EvaluationAnswer answer_of(const Evaluation& evaluation) {
  const auto is_test = [](const JudgedSplit& split) { return split.all.name != "validation"; };
  const bool any_test = std::ranges::any_of(evaluation.splits, is_test);
  EvaluationAnswer answer;
  std::vector<std::string> found;
  std::vector<std::string> rules;
  std::string model_name;
  double lowest = 2;
  for (const JudgedSplit& split : evaluation.splits) {
    if (any_test && !is_test(split)) continue;
    const auto detectors = summarise_strictest(split.all.detectors);
    const DetectorSummary* const model = first_model(detectors);
    if (model == nullptr) continue;
    model_name = label_of(*model);
    found.push_back(fmt::format(
        "{:.1f} % of the attack windows of {} with false alarms in {:.2f} % of benign ones",
        mean_of(*model, Figure::recall) * 100, split.all.name, mean_of(*model, Figure::fpr) * 100));
    if (const DetectorSummary* const rule = best_rule(detectors))
      rules.push_back(fmt::format("{} F1 {:.3f} on {} ({:.3f})", rule->name, mean_of(*rule, Figure::f1),
                                  split.all.name, mean_of(*model, Figure::f1)));
    if (mean_of(*model, Figure::f1) >= lowest) continue;
    lowest = mean_of(*model, Figure::f1);
    answer.hardest = &split;
  }
  if (found.empty()) return answer;
  answer.text = fmt::format("{} finds {}.", model_name, fmt::join(found, ", and "));
  if (!rules.empty())
    answer.text +=
        fmt::format(" The best simple rule reaches {}; in brackets the model.", fmt::join(rules, ", "));
  return answer;
}

}  // namespace plimsoll
