#include "can/tasks/evaluation_report.h"

#include <algorithm>

#include "base/units.h"
#include "can/tasks/evaluation_answer.h"
#include "can/tasks/evaluation_summary.h"
#include "can/tasks/evaluation_table.h"
#include "tasks/metrics/undefined_figures.h"
#include "telemetry/chart.h"

namespace plimsoll {
namespace {

using Kind = Report::Table::Kind;

const std::vector<std::string> kHeadings = {"<detector", "F1",     "precision", "recall", "FPR",   "FP/h",
                                            "AUC",       "PR-AUC", "MCC",       "delay",  "missed"};

Report::Table::Row report_row(const DetectorSummary& summary) {
  Report::Table::Row row{{(summary.rule ? "rule: " : "") + label_of(summary)}, Kind::plain};
  for (const Figure figure : {Figure::f1, Figure::precision, Figure::recall, Figure::fpr})
    row.cells.push_back(figure_cell(summary.at(figure)));
  row.cells.push_back(hourly_cell(summary));
  for (const Figure figure : {Figure::auc, Figure::pr_auc, Figure::mcc})
    row.cells.push_back(figure_cell(summary.at(figure)));
  row.cells.push_back(delay_cell(summary));
  row.cells.push_back(missed_cell(summary));
  return row;
}

void add_rows(Report::Table& table, const std::string& title, const EvaluatedGroup& group) {
  table.rows.push_back({{title}, Kind::group});
  const std::vector<DetectorSummary> summaries = summarise(group.detectors);
  const DetectorSummary* const deployed = find_deployed(summaries);
  for (const DetectorSummary& summary : summaries) {
    table.rows.push_back(report_row(summary));
    if (&summary == deployed) table.rows.back().kind = Kind::chosen;
  }
}

bool has_deployed(const Evaluation& evaluation) {
  return std::ranges::any_of(evaluation.splits, [](const EvaluatedSplit& split) {
    return find_deployed(summarise(split.all.detectors)) != nullptr;
  });
}

std::string where_thresholds_are_from(int64_t calibration) {
  if (calibration == 0)
    return "Thresholds were set on benign validation windows alone, so that 1 % or 0.1 % of those are above; "
           "no test label was used.";
  return fmt::format(
      "Thresholds were set for each recording on its first benign windows, at most {} or a third of it, "
      "which are not evaluated. Labels chose these windows: those with a frame labelled as an attack were "
      "left out. No other test label was used.",
      calibration);
}

void add_headline(Report& report, const Evaluation& evaluation, const Published* published,
                  int64_t calibration) {
  report.section("Results");
  report.paragraph("A window is called an attack when its score is above a threshold. " +
                   where_thresholds_are_from(calibration) +
                   (has_deployed(evaluation) ? " In bold: what `plimsoll detect` runs." : "") +
                   " FPR is the false-positive rate measured here, FP/h the number of false alarms per hour "
                   "of benign traffic. A metric that needs an absent class is left out (-).");
  report.paragraph(
      "Delay is the mean time from a recording's first attack frame to the end of the first flagged window; "
      "missed counts the recordings in which none was flagged in time. A rule has no weights: unknown_id "
      "flags a window that holds an ID never seen in benign training traffic, timing flags one in which IDs "
      "come sooner or more often than in that traffic.");
  Report::Table table{kHeadings, {}};
  for (const EvaluatedSplit& split : evaluation.splits) {
    add_rows(table, title_of(split.all, published), split.all);
    if (published == nullptr) continue;
    for (const Published::Model& model : published->models(split.all.name)) {
      table.rows.push_back(
          {{"published: " + model.name, figure_text(model.f1), "", "", "", "", figure_text(model.auc)},
           Kind::aside});
    }
  }
  report.table(table);
  if (published == nullptr) return;
  report.paragraph("Published metrics: " + published->source() + ". " + published->notes());
}

void add_thresholds(Report& report, const Evaluation& evaluation) {
  Report::Table table{{"<detector", "seed", "asked of benign windows", "realised there", "threshold"}, {}};
  if (evaluation.splits.empty()) return;
  for (const DetectorCurves& curves : evaluation.splits.front().curves)
    for (const Threshold& threshold : curves.thresholds) {
      const bool rate = threshold.target_rate > 0;
      table.rows.push_back({{curves.name, curves.rule ? "-" : fmt::format("{}", curves.seed),
                             rate ? fmt::format("{:g} %", threshold.target_rate * 100) : "-",
                             rate ? fmt::format("{:.4g} %", threshold.realised_rate * 100) : "-",
                             fmt::format("{:.6g}", threshold.level)},
                            Kind::plain});
    }
  report.begin_details(fmt::format("Thresholds ({})", table.rows.size()));
  report.table(table);
  report.end_details();
}

// Maps a detector's name to its place among the names of the split, which selects its colour.
class RowNames {
 public:
  int place(const std::string& name, bool& is_new) {
    const auto found = std::ranges::find(names_, name);
    is_new = found == names_.end();
    const auto at = static_cast<int>(found - names_.begin());
    if (is_new) names_.push_back(name);
    return at;
  }

 private:
  std::vector<std::string> names_;
};

std::vector<ChartPoint> chart_points(const std::vector<CurvePoint>& curve) {
  std::vector<ChartPoint> points;
  for (const CurvePoint& point : curve) points.push_back({point.x, point.y});
  return points;
}

// Marks a detector's thresholds on its curves.
void mark_thresholds(LineChart& roc, LineChart& pr, const DetectorCurves& curves, const EvaluatedGroup& group,
                     int colour) {
  for (const DetectorFigures& figures : group.detectors) {
    if (figures.name != curves.name || figures.seed != curves.seed) continue;
    const auto rate = figures.confusion.false_positive_rate();
    const auto recall = figures.confusion.recall();
    const auto precision = figures.confusion.precision();
    const double target = figures.threshold.target_rate;
    const std::string text =
        target > 0 ? fmt::format("{} at {:g} %", figures.name, target * 100) : figures.name;
    if (rate && recall) roc.marks.push_back({{*rate, *recall}, colour, target < 0.005, text});
    if (recall && precision) pr.marks.push_back({{*recall, *precision}, colour, target < 0.005, text});
  }
}

std::string with_area(const std::string& name, const std::optional<Spread>& area, const char* what) {
  return area ? fmt::format("{}: {} {}", name, what, figure_cell(area)) : name;
}

struct Curves {
  LineChart roc;
  LineChart pr;
};

Curves curves_of(const EvaluatedSplit& split) {
  LineChart roc{{"false-positive rate, from 0.01 %", DetectorCurves::kMinRate, 1, Axis::Scale::log, true},
                {"recall", 0, 1, Axis::Scale::linear, true},
                {},
                {}};
  LineChart pr{
      {"recall", 0, 1, Axis::Scale::linear, true}, {"precision", 0, 1, Axis::Scale::linear, true}, {}, {}};
  const auto summaries = summarise(split.all.detectors);
  RowNames names;
  for (const DetectorCurves& curves : split.curves) {
    if (curves.roc.empty()) continue;
    bool first = false;
    const int colour = names.place(curves.name, first);
    const auto summary = std::ranges::find(summaries, curves.name, &DetectorSummary::name);
    const Stroke stroke{colour, curves.rule, !first};
    // Draw steps: a straight line between two thresholds would be curved on a logarithmic axis.
    roc.series.push_back({first ? with_area(curves.name, summary->at(Figure::auc), "AUC") : "", stroke,
                          chart_points(curves.roc), true});
    std::vector<ChartPoint> precisions = chart_points(curves.precision_recall);
    precisions.insert(precisions.begin(), {0, precisions.front().y});
    // The precision at a recall also holds for lower recalls, as in PR-AUC.
    std::ranges::reverse(precisions);
    pr.series.push_back({first ? with_area(curves.name, summary->at(Figure::pr_auc), "PR-AUC") : "", stroke,
                         std::move(precisions), true});
    if (first) mark_thresholds(roc, pr, curves, split.all, colour);
  }
  // Reversing puts the first detectors on top.
  std::ranges::reverse(roc.marks);
  std::ranges::reverse(pr.marks);
  return {std::move(roc), std::move(pr)};
}

void add_curves(Report& report, const EvaluatedSplit& split) {
  const auto [roc, pr] = curves_of(split);
  if (roc.series.empty()) {
    report.paragraph("One class is absent, so there are no curves.");
    return;
  }
  report.figures({{"ROC: dots are thresholds, 0.1 % filled, 1 % hollow", draw(roc)},
                  {"Precision and recall, the same thresholds", draw(pr)}});
  if (std::ranges::any_of(roc.series, [](const LineChart::Series& series) { return series.stroke.faint; }))
    report.paragraph(fmt::format("Thick lines and dots show seed {}, thin lines the other seeds.",
                                 split.curves.front().seed));
}

void add_histograms(Report& report, const EvaluatedSplit& split) {
  std::vector<Report::Figure> figures;
  RowNames names;
  for (const DetectorCurves& curves : split.curves) {
    bool first = false;
    names.place(curves.name, first);
    const ScoreHistogram& scores = curves.histogram;
    // A rule whose result is yes or no has no distribution of scores. If there are several seeds, only the
    // first seed is shown.
    const bool yes_or_no = curves.thresholds.size() == 1 && curves.thresholds[0].target_rate == 0;
    if (!first || yes_or_no || scores.negatives.empty()) continue;
    Histogram chart{{"score of " + curves.name, scores.low, scores.high, Axis::Scale::linear, false},
                    {},
                    {},
                    "windows of the class"};
    if (split.all.graphs > split.all.attack_graphs) chart.series.push_back({"benign", 0, scores.negatives});
    if (split.all.attack_graphs > 0) chart.series.push_back({"attack", 1, scores.positives});
    for (const Threshold& threshold : curves.thresholds)
      chart.levels.push_back(
          {static_cast<double>(threshold.level), fmt::format("{:g} %", threshold.target_rate * 100)});
    figures.push_back(
        {fmt::format("Scores of {}{}", curves.name, curves.rule ? "" : fmt::format(", seed {}", curves.seed)),
         draw(chart)});
  }
  if (figures.empty()) return;
  report.figures(figures);
  report.paragraph("Scores beyond the ends are counted in the outermost bars.");
}

// Adds each detector's confusion matrix at its lowest rate, for the first of several seeds.
void add_confusions(Report& report, const EvaluatedSplit& split) {
  std::vector<Report::Figure> figures;
  for (const DetectorSummary& summary : summarise_strictest(split.all.detectors)) {
    const auto first = std::ranges::find_if(
        split.all.detectors, [&](const DetectorFigures& detector) { return summary.is_of(detector); });
    const ConfusionCounts& v = first->confusion;
    figures.push_back(
        {label_of(summary),
         draw(Confusion{v.true_positives, v.false_positives, v.true_negatives, v.false_negatives}), true});
  }
  report.figures(figures);
}

void add_groups(Report& report, const std::vector<EvaluatedGroup>& groups, const std::string& title) {
  Report::Table table{kHeadings, {}};
  for (const EvaluatedGroup& group : groups)
    add_rows(table, title_of(group, nullptr) + (group.attack ? " (" + *group.attack + ")" : ""), group);
  report.begin_details(fmt::format("{} ({})", title, groups.size()));
  report.table(table);
  report.end_details();
}

// Adds the table by attack, the only table that is always open.
void add_attacks(Report& report, const EvaluatedSplit& split) {
  if (split.attacks.empty()) return;
  Report::Table table{{"<F1 at the lowest rate", "windows", "with attacks"}, {}};
  for (const DetectorSummary& summary : summarise_strictest(split.all.detectors))
    table.headings.push_back(summary.name);
  for (const EvaluatedGroup& attack : split.attacks) {
    Report::Table::Row row{{attack.name, format_count(attack.graphs), format_count(attack.attack_graphs)},
                           Kind::plain};
    for (const DetectorSummary& summary : summarise_strictest(attack.detectors))
      row.cells.push_back(figure_cell(summary.at(Figure::f1)));
    table.rows.push_back(std::move(row));
  }
  report.table(table);
  add_groups(report, split.attacks, "All metrics by attack");
  add_groups(report, split.recordings, "All metrics by recording");
}

void add_suspicious(Report& report, const std::vector<Report::Figure>& figures) {
  if (figures.empty()) return;
  report.heading("The most suspicious windows");
  report.paragraph(
      "CAN IDs in a circle, edges from an ID to the one that follows it. The larger a node, the more of the "
      "GAT's output came from it; the wider an edge, the more passed through it, by the attention of all "
      "layers. Point at one to see its numbers.");
  report.figures(figures);
}

void add_answer(Report& report, const Evaluation& evaluation) {
  const EvaluationAnswer answer = answer_of(evaluation);
  if (answer.hardest == nullptr) return;
  report.section("In short");
  report.paragraph(answer.text);
  const Curves curves = curves_of(*answer.hardest);
  if (curves.roc.series.empty()) return;
  report.figures(
      {{fmt::format("{}: attacks found against false alarms; dots are thresholds", answer.hardest->all.name),
        draw(curves.roc)}});
}

}  // namespace

Markup evaluation_report(const Evaluation& evaluation, const Published* published, const RunRecord& run,
                         const std::vector<std::vector<Report::Figure>>& suspicious, int64_t calibration) {
  Report report(run.name, "Detection of attacks, evaluated by plimsoll evaluate");
  add_answer(report, evaluation);
  add_headline(report, evaluation, published, calibration);
  add_thresholds(report, evaluation);
  for (size_t s = 0; s < evaluation.splits.size(); ++s) {
    const EvaluatedSplit& split = evaluation.splits[s];
    report.section(split.all.name);
    report.paragraph(fmt::format("{} windows of {} recordings, {} with attacks.",
                                 format_count(split.all.graphs), split.all.recordings,
                                 format_count(split.all.attack_graphs)));
    for (const std::string& name : split.left_out)
      report.paragraph("Left out: " + name + ", a copy of a training recording.");
    add_curves(report, split);
    add_histograms(report, split);
    add_confusions(report, split);
    add_attacks(report, split);
    if (s < suspicious.size()) add_suspicious(report, suspicious[s]);
  }
  add_run(report, run);
  return report.html();
}

}  // namespace plimsoll
