#include "engine/plan/plan_details.h"

#include <algorithm>

#include "engine/plan/blocks_ahead.h"
#include "memory/ledger.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// A plan is exact only if the plan of each kind of work is exact.
void set_exactness(MemoryPlan& plan, const AllWork& work) {
  for (const PlannedWork* each : {&work.main(), &work.prediction, work.teaching}) {
    if (each == nullptr) continue;
    if (plan.exact) plan.why_inexact = each->plan->difference();
    plan.exact = plan.exact && each->plan->exact();
  }
  plan.all_blocks_known = work.main().all_known && work.prediction.all_known;
  plan.blocks_planned = work.main().blocks + (work.training != nullptr ? work.prediction.blocks : 0);
}

void set_ranks(MemoryPlan& plan, const PlanInput& input) {
  plan.ranks = input.ranks;
  if (input.ranks == 1) return;
  const ParameterList& parameters = input.objective->parameters();
  plan.bytes_sent = LaneExchange::bytes_sent(parameters, input.lanes, input.ranks);
  plan.record_bytes_sent = LaneExchange::record_bytes_sent(parameters, input.lanes, input.ranks);
  plan.validation_bytes_sent = LaneExchange::validation_bytes_sent(input.ranks);
  plan.parameter_bytes = parameters.count() * int64_t{sizeof(float)};
}

// Returns the bytes that a teacher needs: its weights, or its outputs.
int64_t teacher_bytes(const PlanInput& input) {
  if (input.offloaded_teacher != nullptr) return input.offloaded_teacher->bytes();
  int64_t bytes = 0;
  if (input.live_teacher != nullptr)
    for (const ParameterList::Entry& entry : input.live_teacher->all())
      bytes += tensor_heap_bytes(static_cast<int64_t>(entry.value.nbytes()));
  return bytes;
}

// Adds the bytes by purpose, and their sum, the peak.
void add_parts(MemoryPlan& plan, const PlanInput& input, const PlanNeeds& needs) {
  const Ledger& ledger = Ledger::process();
  int64_t embeddings = 0;
  for (const ParameterList::Entry& entry : input.objective->parameters().entries())
    if (entry.name.find("embedding") != std::string::npos)
      embeddings += entry.value.numel() * int64_t{sizeof(float)};
  int64_t other = ledger.held();
  const PendingAllocation& missing = input.missing;
  const auto add = [&](const char* name, int64_t bytes) {
    if (bytes > 0) plan.parts.emplace_back(name, bytes);
  };
  for (const Tag tag : {Tag::parameters, Tag::optimizer, Tag::columns}) other -= ledger.held(tag);
  const int64_t weights = input.live_teacher != nullptr ? teacher_bytes(input) : 0;
  const int64_t outputs = input.offloaded_teacher != nullptr ? teacher_bytes(input) : 0;
  add("parameters", ledger.held(Tag::parameters) + missing.parameters - embeddings - weights);
  add("embeddings", embeddings);
  add("teacher", weights + outputs);
  add("gradients", needs.gradients);
  add("exchange", needs.exchange);
  add("optimizer", ledger.held(Tag::optimizer) + missing.optimizer);
  add("columns", ledger.held(Tag::columns) + missing.columns + needs.lists - outputs);
  add("blocks in flight", plan.execution.slab_bytes);
  add("graphs of blocks", plan.execution.blocks * needs.graphs);
  add("graphs kept", plan.execution.keep * needs.graphs);
  add("prefetch", plan.execution.prefetch * needs.graphs);
  add("cache", plan.execution.cache_bytes);
  add("other", other + missing.output);
  plan.peak = input.memory.outside_ledger + plan.heap;
  for (const auto& [name, bytes] : plan.parts) plan.peak += bytes;
}

// Lists the graphs that do not fit alone, if the plan is not feasible.
void find_too_large(MemoryPlan& plan, const PlanInput& input, const AllWork& work, int64_t max_bytes) {
  const PlannedWork& main = work.main();
  const PlannedWork* const teaching = work.teaching;
  const auto look = [&](std::span<const int64_t> graphs) {
    for (const int64_t g : graphs) {
      const BlockTerms terms = main.plan->terms(std::span(&g, 1));
      if (main.boxes[terms.closed ? 1 : 0].count == 0) continue;
      int64_t bytes = main.plan->bytes(terms);
      if (teaching != nullptr)
        bytes = std::max(bytes, teaching->plan->bytes(teaching->plan->terms(std::span(&g, 1))));
      if (bytes <= max_bytes) continue;
      plan.too_large.push_back({g, terms.terms[kNodes], terms.terms[kEdges], bytes});
    }
  };
  if (plan.feasible || max_bytes == 0) return;  // If there is no memory at all, no graph is the cause.
  if (main.kind == WorkKind::training)
    look(input.training);
  else
    for (const auto& list : input.predicted) look(list);
  std::ranges::sort(plan.too_large, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (plan.too_large.size() > 16) plan.too_large.resize(16);
}

// Adds the cost of reading for several shares of the data. `mean` is the mean range divided by the largest
// range, for which the time is known.
void add_reading(MemoryPlan& plan, const PlanInput& input, double mean) {
  plan.start_up = input.source->start_up_cost();
  const int64_t max = input.source->max_cache_bytes();
  const auto all = input.source->reading_cost(max);
  if (!all) return;
  const double blocks =
      static_cast<double>(all->training) + kForwardShare * static_cast<double>(all->validating);
  const double rate = plan.execution.graphs_per_s;
  const double seconds = rate > 0 ? mean * blocks / rate : 0;
  const int64_t without_cache = plan.peak - plan.execution.cache_bytes;
  const auto reading_with = [&](double share, int64_t bytes) {
    const ReadingCost cost = *input.source->reading_cost(bytes);
    return MemoryPlan::Reading{share,        std::max(without_cache + bytes, plan.min_budget),
                               seconds,      cost.read,
                               cost.written, cost.scattered_reads};
  };
  for (const double share : {0.05, 0.1, 0.2, 0.5, 1.0}) {
    const auto part = static_cast<int64_t>(share * static_cast<double>(all->data));
    plan.reading.push_back(reading_with(share, share < 1 ? std::min(max, part) : max));
  }
  plan.reading_of_run = reading_with(0, plan.execution.cache_bytes);
  plan.epochs = input.epochs;
  if (!plan.start_up || all->training == 0) return;
  const int64_t trained = plan.start_up->graphs - all->validating;
  plan.sampled_epochs = std::clamp<int64_t>(trained / all->training, 0, plan.epochs);
  plan.seconds_of_samples = plan.start_up->seconds * static_cast<double>(all->training) /
                            static_cast<double>(std::max<int64_t>(plan.start_up->graphs, 1));
}

}  // namespace

void add_details(MemoryPlan& plan, const PlanInput& input, const AllWork& work, const PlanNeeds& needs) {
  set_exactness(plan, work);
  set_ranks(plan, input);
  add_parts(plan, input, needs);
  plan.max_graph_bytes = std::max<int64_t>(needs.slab(1), 0);
  find_too_large(plan, input, work, plan.max_graph_bytes);
  const PlannedWork& main = work.main();
  add_reading(plan, input, main.max_bytes > 0 ? main.mean_bytes / static_cast<double>(main.max_bytes) : 1);
}

}  // namespace plimsoll
