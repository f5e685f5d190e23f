#include "train/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/units.h"
#include "nn/classification.h"
#include "store/split_name.h"
#include "telemetry/table.h"
#include "train/attack_scores.h"
#include "train/planner.h"

namespace plimsoll {
namespace {

struct NamedGraphs {
  std::string name;
  GraphList graphs;
  std::vector<std::string> left_out;
};

// Validation first, then attacks that were left out and the splits that do not train, without recordings
// whose content trained the model.
std::vector<NamedGraphs> graphs_to_judge(const GraphSetTables& tables, const DetectorModel& detector,
                                         const std::optional<TrainingSplit>& split) {
  std::vector<NamedGraphs> lists;
  if (split) {
    lists.push_back({"validation", split->validation, {}});
    for (const auto& [attack, graphs] : split->left_out) lists.push_back({left_out_name(attack), graphs, {}});
  }
  const std::set<std::string> trained(detector.trained_on.begin(), detector.trained_on.end());
  for (const GraphRange& recording : tables.recordings) {
    if (is_training_split(recording.split)) continue;
    if (lists.empty() || lists.back().name != recording.split) lists.push_back({recording.split, {}, {}});
    if (trained.contains(content_of(recording))) {
      lists.back().left_out.push_back(recording.name);
      continue;
    }
    for (int64_t g = 0; g < recording.graphs; ++g) lists.back().graphs.push_back(recording.first_graph + g);
  }
  return lists;
}

SplitVerdict judge(BlockEngine& engine, const NamedGraphs& list, std::span<const GraphShape> shapes,
                   const DetectorModel& detector, std::span<const uint8_t> unknown_id) {
  SplitVerdict result{list.name, static_cast<int64_t>(list.graphs.size()), 0, list.left_out, {}, {}};
  const auto scores = attack_scores(engine, list.graphs);
  Vector<uint8_t, Tag::columns> truth;
  for (const int64_t g : list.graphs) truth.push_back(shapes[static_cast<size_t>(g)].label == 1);
  result.attack_graphs = std::count(truth.begin(), truth.end(), uint8_t{1});
  const auto auc = roc_auc(scores, truth);
  for (const Threshold& threshold : detector.thresholds) {
    DetectorVerdict verdict{"gat", threshold, {}, auc};
    for (size_t i = 0; i < scores.size(); ++i)
      verdict.verdicts.add(truth[i] == 1, scores[i] > threshold.log_odds);
    result.models.push_back(verdict);
  }
  Vector<float, Tag::columns> flags;
  for (const int64_t g : list.graphs) flags.push_back(unknown_id[static_cast<size_t>(g)]);
  DetectorVerdict rule{"unknown_id", std::nullopt, {}, roc_auc(flags, truth)};
  for (size_t i = 0; i < flags.size(); ++i) rule.verdicts.add(truth[i] == 1, flags[i] > 0);
  result.rules.push_back(rule);
  return result;
}

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json detector_json(const DetectorVerdict& verdict) {
  Json json = {{"name", verdict.name}};
  if (verdict.threshold) {
    json["threshold"] = verdict.threshold->log_odds;
    json["target_fpr"] = verdict.threshold->target_rate;
    json["validation_fpr"] = verdict.threshold->realised_rate;
  }
  json["fpr"] = number(verdict.verdicts.false_positive_rate());
  json["f1"] = number(verdict.verdicts.f1());
  json["precision"] = number(verdict.verdicts.precision());
  json["recall"] = number(verdict.verdicts.recall());
  json["auc"] = number(verdict.auc);
  json["confusion"] = {{"tp", verdict.verdicts.true_positives},
                       {"fp", verdict.verdicts.false_positives},
                       {"tn", verdict.verdicts.true_negatives},
                       {"fn", verdict.verdicts.false_negatives}};
  return json;
}

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "-";
}

}  // namespace

std::vector<SplitVerdict> evaluate(const BlockSource& source, const DetectorModel& detector,
                                   const std::optional<TrainingSplit>& split,
                                   std::span<const uint8_t> unknown_id, const BlockLimits& limits,
                                   int threads, int64_t outside_ledger, const std::string& only) {
  const auto shapes = read_shapes(source, threads);
  const Classification objective(*detector.model);
  std::vector<NamedGraphs> lists = graphs_to_judge(source.tables(), detector, split);
  std::string known;
  for (const NamedGraphs& list : lists) known += " " + list.name;
  std::erase_if(lists, [&](const NamedGraphs& list) { return !only.empty() && only != list.name; });
  std::vector<SplitVerdict> verdicts;
  if (!lists.empty()) {
    std::vector<std::span<const int64_t>> predicted;
    int64_t longest = 0;
    for (const NamedGraphs& list : lists) {
      predicted.emplace_back(list.graphs);
      longest = std::max(longest, static_cast<int64_t>(list.graphs.size()));
    }
    // Of a list: logits, scores and, as they are ranked, copies with their truth; vectors that grow.
    constexpr int64_t kJudgedBytes = 64;
    BlockEngine engine(source, shapes, objective, limits,
                       require_feasible(make_plan({.source = &source,
                                                   .shapes = shapes,
                                                   .objective = &objective,
                                                   .limits = limits,
                                                   .threads = threads,
                                                   .predicted = predicted,
                                                   .outside_ledger = outside_ledger,
                                                   .later = longest * kJudgedBytes})));
    for (const NamedGraphs& list : lists)
      verdicts.push_back(judge(engine, list, shapes, detector, unknown_id));
  }
  if (verdicts.empty() && !only.empty())
    throw UsageError(fmt::format("no split '{}' to judge; there are:{}", only, known));
  if (verdicts.empty())
    throw InputError("nothing to judge: the data set has no split beside those that train");
  return verdicts;
}

Json verdicts_json(const std::vector<SplitVerdict>& splits, int64_t seed) {
  Json list = Json::array();
  for (const SplitVerdict& split : splits) {
    Json models = Json::array();
    for (const DetectorVerdict& verdict : split.models) {
      models.push_back(detector_json(verdict));
      models.back()["seed"] = seed;
    }
    Json rules = Json::array();
    for (const DetectorVerdict& verdict : split.rules) rules.push_back(detector_json(verdict));
    list.push_back({{"name", split.name},
                    {"graphs", split.graphs},
                    {"attack_graphs", split.attack_graphs},
                    {"left_out", split.left_out},
                    {"models", std::move(models)},
                    {"rules", std::move(rules)}});
  }
  return {{"splits", std::move(list)}};
}

std::string verdicts_table(const std::vector<SplitVerdict>& splits) {
  Table table({"<split", "windows", "attack", "<detector", "F1", "precision", "recall", "FPR", "AUC"});
  for (const SplitVerdict& split : splits) {
    std::vector<std::string> first = {split.name, format_count(split.graphs),
                                      format_count(split.attack_graphs)};
    const auto add = [&](const std::string& name, const DetectorVerdict& verdict) {
      std::vector<std::string> row = std::exchange(first, {"", "", ""});
      for (const std::string& value :
           {name, cell(verdict.verdicts.f1()), cell(verdict.verdicts.precision()),
            cell(verdict.verdicts.recall()), cell(verdict.verdicts.false_positive_rate()), cell(verdict.auc)})
        row.push_back(value);
      table.add(std::move(row));
    };
    for (const DetectorVerdict& verdict : split.models)
      add(fmt::format("{} at {:g} % of benign validation", verdict.name,
                      verdict.threshold->target_rate * 100),
          verdict);
    for (const DetectorVerdict& verdict : split.rules) add("rule: ID unknown to benign training", verdict);
  }
  return table.text();
}

}  // namespace plimsoll
