#include "can/tasks/evaluation_json.h"

#include <algorithm>

#include "can/tasks/evaluation_summary.h"
#include "tasks/metrics/undefined_figures.h"

namespace plimsoll {
namespace {

Json detector_json(const DetectorFigures& figures) {
  Json json = {{"name", figures.name}};
  if (!figures.rule) json["seed"] = figures.seed;
  json["threshold"] = figures.threshold.level;
  if (figures.threshold.target_rate > 0) {
    json["target_fpr"] = figures.threshold.target_rate;
    json["validation_fpr"] = figures.threshold.realised_rate;
  }
  for (const Figure figure :
       {Figure::fpr, Figure::false_alarms_per_hour, Figure::f1, Figure::precision, Figure::recall,
        Figure::auc, Figure::pr_auc, Figure::mcc, Figure::balanced_accuracy})
    json[figure_key(figure)] = figure_json(value_of(figure, figures));
  json["confusion"] = {{"tp", figures.confusion.true_positives},
                       {"fp", figures.confusion.false_positives},
                       {"tn", figures.confusion.true_negatives},
                       {"fn", figures.confusion.false_negatives}};
  json["delay"] = {{"frames", figure_json(figures.delay.frames())},
                   {"milliseconds", figure_json(figures.delay.milliseconds())},
                   {"recordings", figures.delay.recordings},
                   {"never_detected", figures.delay.recordings - figures.delay.detected}};
  return json;
}

Json detectors_json(const EvaluatedGroup& group, bool rules) {
  Json list = Json::array();
  for (const DetectorFigures& figures : group.detectors)
    if (figures.rule == rules) list.push_back(detector_json(figures));
  return list;
}

// `attack`: the groups are recordings, each with its attack.
Json groups_json(const std::vector<EvaluatedGroup>& groups, bool attack) {
  Json list = Json::array();
  for (const EvaluatedGroup& group : groups) {
    Json json = {{"name", group.name}};
    if (attack) json["attack"] = group.attack ? Json(*group.attack) : Json();
    if (!attack) json["recordings"] = group.recordings;
    json["graphs"] = group.graphs;
    json["attack_graphs"] = group.attack_graphs;
    json["models"] = detectors_json(group, false);
    json["rules"] = detectors_json(group, true);
    list.push_back(std::move(json));
  }
  return list;
}

Json summary_json(const std::vector<DetectorSummary>& summaries) {
  Json list = Json::array();
  for (const DetectorSummary& summary : summaries) {
    if (summary.seeds.size() < 2) continue;
    Json json = {{"name", summary.name}, {"target_fpr", summary.target_rate}, {"seeds", Json(summary.seeds)}};
    for (size_t f = 0; f < kFigures; ++f) {
      const std::optional<Spread>& spread = summary.figures[f];
      json[figure_key(static_cast<Figure>(f))] =
          spread ? Json{{"mean", spread->mean},
                        {"standard_deviation", figure_json(spread->deviation)},
                        {"seeds", spread->seeds}}
                 : Json();
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

Json evaluation_json(const Evaluation& evaluation) {
  Json splits = Json::array();
  for (const EvaluatedSplit& split : evaluation.splits) {
    Json json = {{"name", split.all.name},
                 {"graphs", split.all.graphs},
                 {"attack_graphs", split.all.attack_graphs},
                 {"left_out", split.left_out},
                 {"models", detectors_json(split.all, false)},
                 {"rules", detectors_json(split.all, true)}};
    Json summary = summary_json(summarise(split.all.detectors));
    if (!summary.empty()) json["summary"] = std::move(summary);
    json["attacks"] = groups_json(split.attacks, false);
    json["recordings"] = groups_json(split.recordings, true);
    splits.push_back(std::move(json));
  }
  return {{"splits", std::move(splits)}};
}

}  // namespace plimsoll
