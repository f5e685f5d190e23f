#include "run/plan_run.h"

#include <algorithm>
#include <memory>

#include "engine/plan/planner.h"
#include "memory/budget_caps.h"
#include "run/smallest_budget.h"

namespace plimsoll {
namespace {

std::vector<SeededStage> stages_of(const Training& training, const Recipe& recipe) {
  std::vector<SeededStage> stages;
  for (Stage& stage : training.stages(recipe.seed, {})) stages.push_back({recipe.seed, std::move(stage)});
  return stages;
}

std::unique_ptr<Training> open(const RunRequest& request) {
  return find_task(request.recipe.task).open(request);
}

// Returns the smallest budget of at least `budget` bytes with which the data can be opened. The memory for
// opening depends on the cap, so this function tries budgets; each error reports how many bytes are missing.
int64_t budget_to_open(const RunRequest& request, int64_t budget) {
  for (;;) {
    Ledger::process().set_cap(budget - request.memory.outside_ledger);
    try {
      open(request);
      return budget;
    } catch (const BudgetExceeded& refusal) {
      budget += refusal.bytes_missing();
    }
  }
}

}  // namespace

StagePlans plan_run(const RunRequest& request) {
  return plan_stages(stages_of(*open(request), request.recipe), request.stage_options());
}

StagePlans plan_without_data(const RunRequest& request) {
  RunOptions run = request.stage_options();
  run.without_data = true;
  return plan_stages(stages_of(*open(request), request.recipe), run);
}

StagePlans plan_beyond_budget(RunRequest request, const BudgetExceeded* refusal) {
  Ledger& ledger = Ledger::process();
  const int64_t budget = request.memory.budget;
  const int64_t outside = request.memory.outside_ledger;
  request.memory.cap = budget - outside;
  RunOptions run = request.stage_options();
  run.without_data = true;
  const auto stated = [outside](int64_t needed) { return outside == 0 ? needed : stated_budget(needed); };
  raise_cap_to_limits(outside);
  StagePlans plans;
  int64_t opening = 0;
  int64_t needed = refusal == nullptr ? 0 : budget + refusal->bytes_missing();
  try {
    ledger.begin_recent();
    const auto training = open(request);
    opening = outside + ledger.recent_peak();
    ledger.begin_recent();
    plans = plan_stages(stages_of(*training, request.recipe), run);
    needed = std::max(needed, stated(outside + ledger.recent_peak()));
  } catch (const BudgetExceeded&) {  // The limits of this machine are too low even for planning.
    if (refusal != nullptr) throw BudgetExceeded(*refusal);
    throw;
  }
  // Opening may need less memory under a lower cap.
  if (const int64_t of_run = std::max(needed, largest_budget(plans).min_budget); opening > of_run) {
    needed = stated(budget_to_open(request, of_run));
    raise_cap_to_limits(outside);
  }
  for (auto& [stage, plan] : plans) {
    plan.feasible = false;
    plan.min_budget = std::max(plan.min_budget, needed);
  }
  return plans;
}

StagePlans plan_within(const RunRequest& request) {
  if (request.memory.is_below_floor()) return plan_beyond_budget(request, nullptr);
  try {
    return request.recipe.memory.estimation == Estimation::from_shapes ? plan_without_data(request)
                                                                       : plan_run(request);
  } catch (const BudgetExceeded& refusal) {
    return plan_beyond_budget(request, &refusal);
  }
}

std::optional<EvaluationNeeds> needs_of_evaluation(const RunRequest& request) {
  const Task& task = find_task(request.recipe.task);
  raise_cap_to_limits(request.memory.outside_ledger);
  bool known = false;
  EvaluationNeeds needs;
  const auto rehearse = [&](Rehearsal& rehearsal) {
    known = task.rehearse_evaluation(request, rehearsal);
    needs.bytes_sent = rehearsal.bytes_sent();
  };
  needs.min_budget = budget_of(rehearse, request.memory);
  return known ? std::optional(needs) : std::nullopt;
}

Json device_plan_json(const DevicePlan& plan) {
  Json parts = Json::object();
  for (const auto& [name, bytes] : plan.parts) parts[name] = bytes;
  return {{"budget_bytes", plan.budget},
          {"feasible", plan.feasible},
          {"peak_bytes", plan.peak},
          {"min_budget_bytes", plan.min_budget},
          {"blocks_in_flight", plan.blocks},
          {"recompute", plan.recompute},
          {"range_bytes", plan.range},
          {"pinned_bytes", plan.staging},
          {"breakdown", std::move(parts)},
          {"worst_block",
           {{"graphs", plan.worst.graphs},
            {"nodes", plan.worst.nodes},
            {"edges", plan.worst.edges},
            {"peak_bytes", plan.worst_bytes},
            {"operation", plan.operation}}},
          {"budgets_for_blocks", plan.budget_for},
          {"without_cuda", plan.without_cuda}};
}

int64_t bytes_sent_in_epoch(const MemoryPlan& plan) {
  return plan.steps * (plan.bytes_sent + plan.record_bytes_sent) + plan.validation_bytes_sent;
}

Json plan_json(const MemoryPlan& plan) {
  Json too_large = Json::array();
  for (const MemoryPlan::Graph& graph : plan.too_large)
    too_large.push_back(
        {{"graph", graph.graph}, {"nodes", graph.nodes}, {"edges", graph.edges}, {"bytes", graph.bytes}});
  Json speed = Json::array();
  for (const MemoryPlan::Speed& at : plan.speed)
    speed.push_back({{"budget_bytes", at.budget},
                     {"blocks_in_flight", at.blocks_in_flight},
                     {"recompute", at.recompute},
                     {"graphs_per_s", at.graphs_per_s}});
  Json json = {{"peak_bytes", plan.peak},
               {"min_budget_bytes", plan.min_budget},
               {"feasible", plan.feasible},
               {"exact", plan.exact},
               {"why_inexact", plan.why_inexact},
               {"blocks_in_flight", plan.execution.blocks},
               {"slab_bytes", plan.execution.slab_bytes},
               {"prefetch", plan.execution.prefetch},
               {"keep", plan.execution.keep},
               {"recompute", plan.execution.recompute},
               {"recompute_note", plan.recompute_note},
               {"worst_block",
                {{"graphs", plan.worst.size.graphs},
                 {"nodes", plan.worst.size.nodes},
                 {"edges", plan.worst.size.edges},
                 {"peak_bytes", plan.worst.peak_bytes},
                 {"range_bytes", plan.worst.range_bytes},
                 {"verified_peak_bytes", plan.verified_peak_bytes},
                 {"operation", plan.worst.operation}}},
               {"largest_graph_bytes", plan.max_graph_bytes},
               {"graphs_too_large", std::move(too_large)},
               {"speed", std::move(speed)},
               {"blocks_planned", plan.blocks_planned},
               {"all_blocks_known", plan.all_blocks_known},
               {"seconds", plan.seconds}};
  if (plan.table)
    json["embeddings_on_disk"] = {{"rows", plan.table->rows},
                                  {"rows_in_memory", plan.table->slots},
                                  {"file_bytes", plan.table->file_bytes},
                                  {"reserved_bytes", plan.table->reserved_bytes}};
  if (const auto& [in_memory, on_disk] = plan.table_budgets; in_memory || on_disk)
    json["embeddings_min_budget_bytes"] = {{"memory", in_memory ? Json(*in_memory) : Json()},
                                           {"disk", on_disk ? Json(*on_disk) : Json()}};
  if (plan.device) json["device"] = device_plan_json(*plan.device);
  if (plan.ranks > 1)
    json["ranks"] = {{"ranks", plan.ranks},
                     {"node_peak_bytes", plan.ranks * plan.peak},
                     {"node_min_budget_bytes", plan.ranks * plan.min_budget},
                     {"bytes_sent_a_step", plan.bytes_sent},
                     {"bytes_sent_an_epoch", bytes_sent_in_epoch(plan)},
                     {"parameter_bytes", plan.parameter_bytes}};
  return json;
}

}  // namespace plimsoll
