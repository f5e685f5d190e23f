#include "run/run_manifest.h"

#include <algorithm>

#include "base/error.h"
#include "base/json_text.h"
#include "base/seconds.h"
#include "base/version.h"
#include "engine/plan/memory_by_module.h"
#include "io/file.h"
#include "job/usage.h"
#include "run/plan_run.h"

namespace plimsoll {
namespace {

// Returns the manifest entries of `before`, except for stages that ran again, followed by those of `stages`.
Json with_earlier(const Json& before, const std::vector<TrainedStage>& stages) {
  Json all = Json::array();
  const Json now = stages_json(stages);
  if (before.is_array())
    for (const Json& entry : before) {
      const auto same = [&](const Json& other) {
        return entry.is_object() && entry.value("seed", Json()) == other["seed"] &&
               entry.value("stage", Json()) == other["stage"];
      };
      if (std::ranges::none_of(now, same)) all.push_back(entry);
    }
  for (const Json& entry : now) all.push_back(entry);
  return all;
}

const MemoryPlan& largest_plan(const std::vector<TrainedStage>& stages) {
  const auto largest = std::ranges::max_element(
      stages, {}, [](const TrainedStage& stage) { return stage.report.fit.plan.peak; });
  return largest->report.fit.plan;
}

}  // namespace

RunManifest::RunManifest(const RunRequest& request, RunFacts facts)
    : request_(request),
      earlier_stages_(std::move(facts.earlier.stages)),
      earlier_starts_(facts.earlier.starts.is_array() ? std::move(facts.earlier.starts) : Json::array()),
      json_(Json::object({{"kind", "run"},
                          {"tool", std::string("plimsoll ") + kVersion},
                          {"data", std::move(facts.data)},
                          {"read", std::move(facts.read)},
                          {"identity", facts.identity},
                          {"roundings", std::move(facts.roundings)},
                          {"seed", request.recipe.seed},
                          {"seeds", seeds_of(request)},
                          {"threads", request.memory.threads},
                          {"budget_bytes", request.memory.budget}})) {
  json_.update(request.facts);
  if (!facts.enforced.is_null()) json_["enforced"] = std::move(facts.enforced);
  json_["starts"] = earlier_starts_;
  if (!request.stages.empty() && earlier_stages_.is_array()) json_["stages"] = earlier_stages_;
  if (request.ranks > 1) json_["ranks"] = request.ranks;
}

void RunManifest::write() const {
  write_text(RunFolder{request_.folder}.manifest(), json_text(json_, 1) + "\n");
}

// Sets the entry "starts" to the starts of earlier processes and of this one.
void RunManifest::end(const char* ended) {
  Json starts = earlier_starts_;
  starts.push_back({{"ended", ended},
                    {"seconds", seconds_since(start_)},
                    {"threads", request_.memory.threads},
                    {"budget_bytes", request_.memory.budget},
                    {"usage", usage_json()},
                    {"memory", request_.observer->memory()}});
  json_["starts"] = std::move(starts);
}

void RunManifest::end_early() {
  const bool interrupted = request_.interrupt != nullptr && *request_.interrupt;
  try {
    end(interrupted ? "interrupted" : "error");
    write();
  } catch (const Error&) {
  }
}

void RunManifest::finish(const std::vector<TrainedStage>& trained, const TrainedStage* main) {
  if (main != nullptr) {
    json_["parameters"] = main->report.parameters;
    json_["best_epoch"] = main->report.fit.best_epoch;
    json_["weights"] = main->report.weights;
  }
  if (!trained.empty()) {
    const MemoryPlan& plan = largest_plan(trained);
    json_["plan"] = plan_json(plan);
    json_["memory_by_module"] = memory_by_module_json(memory_by_module(plan.worst));
  }
  json_["stages"] = with_earlier(request_.stages.empty() ? Json() : earlier_stages_, trained);
  json_["memory"] = request_.observer->memory();
  end("done");
  write();
}

std::vector<int64_t> seeds_of(const RunRequest& request) {
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < request.seeds; ++i) seeds.push_back(request.recipe.seed + i);
  return seeds;
}

double graphs_per_second(const StageReport& report) {
  double seconds = 0;
  for (const EpochMetrics& epoch : report.fit.epochs) seconds += epoch.seconds;
  if (seconds == 0) return 0;
  return static_cast<double>(report.graphs) * static_cast<double>(report.fit.epochs.size()) / seconds;
}

Json stages_json(const std::vector<TrainedStage>& trained) {
  Json stages = Json::array();
  for (const auto& [seed, stage] : trained) {
    const FitResult& fit = stage.fit;
    Json json = {{"seed", seed},
                 {"stage", stage.stage},
                 {"graphs", stage.graphs},
                 {"seconds", stage.seconds},
                 {"planned_peak_bytes", fit.plan.peak},
                 {"min_budget_bytes", fit.plan.min_budget},
                 {"measured_peak_bytes", stage.measured_peak}};
    if (fit.device) json["device"] = device_json(*fit.device);
    if (!fit.epochs.empty())
      json.update({{"weights", stage.weights},
                   {"parameters", stage.parameters},
                   {"epochs", fit.epochs.size()},
                   {"best_epoch", fit.best_epoch},
                   {"validation_loss", fit.best_loss},
                   {"graphs_per_s", graphs_per_second(stage)}});
    Json breakdown = Json::object();
    for (const auto& [name, bytes] : fit.plan.parts) breakdown[name] = bytes;
    json["breakdown"] = std::move(breakdown);
    stages.push_back(std::move(json));
  }
  return stages;
}

}  // namespace plimsoll
