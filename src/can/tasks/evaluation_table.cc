#include "can/tasks/evaluation_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "tasks/metrics/undefined_figures.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

// A table with lines of text between its rows. Columns have the same width in all parts.
class Stretches {
 public:
  explicit Stretches(std::vector<std::string> headings) : table_(std::move(headings)) {}

  void begin(std::string title) { titles_.push_back({rows_, std::move(title)}); }
  void add(std::vector<std::string> row) {
    table_.add(std::move(row));
    ++rows_;
  }
  std::string text() const {
    const std::string lines = table_.text();
    constexpr size_t kTitleLines = 2;
    std::string text;
    size_t at = 0;
    size_t next = 0;
    for (size_t line = 0; at < lines.size(); ++line) {
      for (; next < titles_.size() && titles_[next].row + kTitleLines == line; ++next)
        text += "\n" + titles_[next].text + "\n";
      const size_t end = lines.find('\n', at) + 1;
      text += lines.substr(at, end - at);
      at = end;
    }
    return text;
  }

 private:
  struct Title {
    size_t row;
    std::string text;
  };
  Table table_;
  std::vector<Title> titles_;
  size_t rows_ = 0;
};

std::vector<std::string> row_of(const DetectorSummary& summary) {
  std::vector<std::string> row = {"  " + std::string(summary.rule ? "rule: " : "") + label_of(summary)};
  for (const Figure figure : {Figure::f1, Figure::precision, Figure::recall, Figure::fpr})
    row.push_back(figure_cell(summary.at(figure)));
  row.push_back(hourly_cell(summary));
  for (const Figure figure : {Figure::auc, Figure::pr_auc}) row.push_back(figure_cell(summary.at(figure)));
  row.push_back(delay_cell(summary));
  row.push_back(missed_cell(summary));
  return row;
}

std::string attacks_table(const Evaluation& evaluation) {
  std::vector<std::string> headings = {"<F1 at the lowest rate", "windows", "attack"};
  for (const EvaluatedSplit& split : evaluation.splits) {
    if (headings.size() > 3) break;
    for (const DetectorSummary& summary : summarise_strictest(split.all.detectors))
      headings.push_back(summary.name);
  }
  Stretches table(std::move(headings));
  for (const EvaluatedSplit& split : evaluation.splits) {
    table.begin(split.all.name);
    for (const EvaluatedGroup& attack : split.attacks) {
      std::vector<std::string> row = {"  " + attack.name, format_count(attack.graphs),
                                      format_count(attack.attack_graphs)};
      for (const DetectorSummary& summary : summarise_strictest(attack.detectors))
        row.push_back(figure_cell(summary.at(Figure::f1)));
      table.add(std::move(row));
    }
  }
  return table.text();
}

std::string thresholds_table(const Evaluation& evaluation) {
  Table table({"<thresholds", "seed", "asked of benign windows", "realised there", "score above"});
  for (const DetectorCurves& curves : evaluation.splits.front().curves)
    for (const Threshold& threshold : curves.thresholds)
      if (threshold.target_rate > 0)
        table.add({"  " + curves.name, curves.rule ? "-" : fmt::format("{}", curves.seed),
                   fmt::format("{:g} %", threshold.target_rate * 100),
                   fmt::format("{:.4g} %", threshold.realised_rate * 100),
                   fmt::format("{:.6g}", threshold.level)});
  return table.text();
}

}  // namespace

std::string title_of(const EvaluatedGroup& group, const Published* published) {
  std::string title = fmt::format("{}: {} windows, {} with attacks", group.name, format_count(group.graphs),
                                  format_count(group.attack_graphs));
  if (published == nullptr) return title;
  if (const auto published_graphs = published->graphs(group.name);
      published_graphs && *published_graphs != group.graphs)
    title += fmt::format("; published figures are of {}", format_count(*published_graphs));
  return title;
}

std::string figure_cell(const std::optional<Spread>& spread) {
  if (!spread) return "-";
  if (!spread->deviation) return fmt::format("{:.4f}", spread->mean);
  return fmt::format("{:.3f}±{:.3f}", spread->mean, *spread->deviation);
}

std::string hourly_cell(const DetectorSummary& summary) {
  const auto& hourly = summary.at(Figure::false_alarms_per_hour);
  return hourly ? fmt::format("{:.3g}", hourly->mean) : "-";
}

std::string delay_cell(const DetectorSummary& summary) {
  if (const auto& milliseconds = summary.at(Figure::delay_milliseconds))
    return milliseconds->mean < 1000 ? fmt::format("{:.1f} ms", milliseconds->mean)
                                     : fmt::format("{:.1f} s", milliseconds->mean / 1000);
  if (const auto& frames = summary.at(Figure::delay_frames))
    return fmt::format("{:.0f} frames", frames->mean);
  return "-";
}

std::string missed_cell(const DetectorSummary& summary) {
  if (summary.attacked == 0) return "-";
  return fmt::format("{} of {}", summary.missed, summary.attacked);
}

std::string evaluation_table(const Evaluation& evaluation, const Published* published) {
  Stretches table(
      {"<detector", "F1", "precision", "recall", "FPR", "FP/h", "AUC", "PR-AUC", "delay", "missed"});
  for (const EvaluatedSplit& split : evaluation.splits) {
    table.begin(title_of(split.all, published));
    std::vector<DetectorSummary> summaries = summarise(split.all.detectors);
    std::ranges::stable_sort(summaries, {}, [](const DetectorSummary& s) { return s.rule; });
    for (const DetectorSummary& summary : summaries) table.add(row_of(summary));
    if (published == nullptr) continue;
    for (const Published::Model& model : published->models(split.all.name))
      table.add(
          {"  published: " + model.name, figure_text(model.f1), "", "", "", "", figure_text(model.auc)});
  }
  std::string text = table.text() + "\n" + attacks_table(evaluation);
  if (!evaluation.splits.empty()) text += "\n" + thresholds_table(evaluation);
  if (published != nullptr) text += "\npublished: " + published->source() + "\n" + published->notes() + "\n";
  return text;
}

}  // namespace plimsoll
