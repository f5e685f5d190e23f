#include "engine/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/interrupt.h"
#include "base/seconds.h"
#include "base/thread_seconds.h"
#include "base/units.h"
#include "engine/blocks/item_kind.h"
#include "engine/blocks/order_terms.h"
#include "engine/plan/blas_memory.h"
#include "engine/plan/block_plan.h"
#include "engine/plan/blocks_ahead.h"
#include "engine/plan/operation_names.h"
#include "engine/plan/plan_details.h"
#include "engine/plan/plan_needs.h"
#include "engine/plan/planned_work.h"
#include "engine/plan/probes.h"
#include "engine/plan/sample_probes.h"
#include "engine/plan/static_tape.h"
#include "engine/plan/typed_probes.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"
#include "ops/allocator.h"
#include "sample/typed/sample_layout.h"

namespace plimsoll {
namespace {

// Returns the terms of a block that was read. `terms` are only a bound of them if seeds have several samples.
BlockTerms terms_of_read(const GraphBlock& block, const RowWidths& widths, BlockTerms terms) {
  if (widths.layout == nullptr) return terms;
  std::vector<int64_t> padding(block.parts.size(), 0);
  widths.layout->add_padding(padding);
  for (size_t i = 0; i < padding.size(); ++i) terms.terms[kTerms + i] = block.parts[i] - padding[i];
  terms.terms[kNodes] = block.nodes();
  terms.terms[kEdges] = block.edge_count();
  return terms;
}

class Planner {
 public:
  explicit Planner(const PlanInput& input)
      : in_(input), start_(std::chrono::steady_clock::now()), peak_before_(Ledger::process().recent_peak()) {}
  ~Planner() { Ledger::process().end_recent(std::max(peak_before_, probes_peak_)); }
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  MemoryPlan run() {
    PlannedWork prediction(in_, WorkKind::prediction);
    if (prediction.blocks > 0) measure(prediction, false);
    if (in_.offloaded_teacher != nullptr) {
      teaching_.emplace(in_, WorkKind::teaching);
      measure(*teaching_, false);
    }
    MemoryPlan plan;
    if (in_.training.empty()) {
      plan = divide({.prediction = prediction, .teaching = teaching()}, false);
    } else {
      PlannedWork training(in_, WorkKind::training);
      plan = with_training(training, prediction);
    }
    // The memory that planning itself used also counts.
    if (!without_data())
      plan.peak =
          std::max(plan.peak, in_.memory.outside_ledger +
                                  std::max({peak_before_, probes_peak_, Ledger::process().recent_peak()}) +
                                  heap_per_block_);
    if (in_.estimation == Estimation::trial && plan.feasible)
      try_out(in_, plan.execution, prediction.worst, plan);
    plan.exact = plan.exact && !without_data();
    if (without_data() && plan.why_inexact.empty())
      plan.why_inexact = "nothing was run: needs are upper bounds";
    // The run itself computes this plan, within its budget.
    if (probes_peak_ > 0)
      plan.min_budget = std::max(plan.min_budget, stated(in_.memory.outside_ledger + probes_peak_));
    plan.seconds = seconds_since(start_);
    return plan;
  }

 private:
  MemoryPlan with_training(PlannedWork& training, const PlannedWork& prediction) {
    const AllWork work{&training, prediction, teaching()};
    if (in_.recompute == GradientCheckpointing::on) {
      measure(training, true);
      return divide(work, true);
    }
    measure(training, false);
    MemoryPlan whole = divide(work, false);
    const int whole_blocks = max_blocks_;
    if (in_.recompute == GradientCheckpointing::off) return whole;
    measure(training, true);
    MemoryPlan again = divide(work, true);
    whole.speed.insert(whole.speed.end(), again.speed.begin(), again.speed.end());
    again.speed = whole.speed;
    whole.min_budget = again.min_budget = std::min(whole.min_budget, again.min_budget);
    // A layer that is recomputed costs up to a third of the time of its block.
    const bool more_at_once = max_blocks_ * 3 >= whole_blocks * 4;
    if (again.feasible && (!whole.feasible || more_at_once)) {
      again.recompute_note =
          whole.feasible ? fmt::format("space for {} blocks in flight, not {}", max_blocks_, whole_blocks)
                         : "makes the budget feasible";
      return again;
    }
    whole.recompute_note =
        whole_blocks == in_.memory.threads ? "not needed: all threads have a block" : "no gain";
    return whole;
  }

  const PlannedWork* teaching() const { return teaching_ ? &*teaching_ : nullptr; }
  bool without_data() const { return in_.estimation == Estimation::from_shapes; }
  // Returns the device on which blocks run, so that the host is planned only for what remains on the host;
  // null for the CPU.
  DeviceBlocks* device() const { return in_.device ? in_.device->blocks : nullptr; }

  // Records tapes of probes, solves the model, and uses it to measure all blocks.
  void measure(PlannedWork& work, bool recompute) {
    work.plan = std::make_shared<BlockPlan>(in_.block_shapes(), work.options);
    std::optional<BlockEngine> engine;
    if (!without_data())
      engine.emplace(*in_.source, in_.shapes, *in_.objective, in_.limits,
                     ExecutionPlan{.recompute = recompute, .device = device()}, in_.offloaded_teacher);
    RowWidths widths = in_.source->widths();
    if (in_.offloaded_teacher != nullptr) widths = in_.offloaded_teacher->with_outputs(widths);
    const NameOperations names;
    Ledger::process().begin_recent();
    for (const bool closed : {false, true}) {
      const TermBox& box = work.boxes[closed ? 1 : 0];
      if (box.count == 0) continue;
      TapeProbes tapes;
      int64_t graphs = 0;  // Bytes of the graphs of the probes.
      const auto record = [&](const Probe& probe) {
        if (probe.terms.closed != closed) return;
        throw_if_interrupted("the run was planned");
        tapes.add(engine ? work.record(*engine, probe.block)
                         : tape_without_data(*work.objective, probe.terms, widths,
                                             work.kind == WorkKind::training, recompute),
                  probe.terms.terms);
        graphs += graph_bytes({probe.block.graphs(), probe.block.nodes(), probe.block.edge_count()});
        probes_ = std::max(probes_, graphs + tapes.sizes().back().as_they_come);
      };
      const RowWidths of_probes = engine ? widths : RowWidths();
      if (widths.layout != nullptr)
        visit_typed_probes(widths, record);
      else if (prefixes_in(box.highest) > 0)
        visit_sample_probes(box.highest, of_probes, work.options, record);
      else
        std::ranges::for_each(make_probes(box.highest, closed, of_probes, work.options), record);
      work.plan->set_model(closed, TapeModel(tapes));
      work.plan->lay_out(closed, box.lowest, box.highest);
    }
    heap_per_block_ = std::max(heap_per_block_, bytes_outside_ledger() - outside_before_);
    if (!without_data()) {
      probes_peak_ = std::max(probes_peak_, Ledger::process().recent_peak());
      give_back_freed_memory();  // Probes are allocated on the heap, but blocks will not be.
    }
    work.find_worst();
    // Tries a second layout, for the worst block; the better one of the two is kept.
    if (work.blocks > 0) {
      work.plan->lay_out(work.plan->terms(work.worst));
      work.find_worst();
    }
  }

  int64_t graph_bytes(const BlockSize& size) const { return GraphBlock::bytes_for(size, in_.source->room()); }

  // Divides the budget in four steps: adds up the needs, runs the worst block, divides the ledger, and adds
  // budgets and details for the reader.
  MemoryPlan divide(const AllWork& work, bool recompute) {
    MemoryPlan plan;
    set_work(plan, work, recompute);
    PlanNeeds needs = needs_of(in_, work);
    measure_worst(plan, needs, work.main(), recompute);
    divide_ledger(plan, needs);
    add_budgets(plan, needs);
    add_details(plan, in_, work, needs);
    return plan;
  }

  // Sets the plans of each kind of work, and the largest block.
  static void set_work(MemoryPlan& plan, const AllWork& work, bool recompute) {
    if (work.training != nullptr) plan.training = work.training->plan;
    plan.prediction = work.prediction.plan;
    ExecutionPlan& execution = plan.execution;
    execution.recompute = recompute;
    execution.training = plan.training;
    execution.prediction = plan.prediction;
    if (work.teaching != nullptr) execution.teaching = work.teaching->plan;
    execution.largest = work.largest_block();
  }

  // Runs the worst blocks if one fits, and adds the BLAS buffers to the needs.
  void measure_worst(MemoryPlan& plan, PlanNeeds& needs, const PlannedWork& main, bool recompute) {
    const PlannedWork& heaviest = teaching_ && teaching_->max_bytes > main.max_bytes ? *teaching_ : main;
    plan.worst = worst_of(heaviest);
    if (without_data()) {
      heap_per_block_ = usual_blas_bytes();
    } else if (needs.slab(1) >= needs.worst) {
      seconds_per_graph_ = 0;
      plan.verified_peak_bytes = verify(main, recompute);
      if (teaching_) {
        const int64_t found = verify(*teaching_, recompute);
        if (&heaviest == &*teaching_) plan.verified_peak_bytes = found;
      }
    }
    needs.heap += heap_per_block_;
  }

  // Chooses the number of blocks in flight, and divides the remaining memory among kept graphs, prefetch and
  // cache.
  void divide_ledger(MemoryPlan& plan, const PlanNeeds& needs) {
    int blocks = in_.memory.threads;
    while (blocks > 1 && needs.slab(blocks) < needs.ranges(blocks)) --blocks;
    max_blocks_ = blocks;
    plan.feasible = needs.slab(blocks) >= needs.worst;
    ExecutionPlan& execution = plan.execution;
    execution.min_bytes = needs.worst;
    const BlocksAhead max{blocks, in_.prefetch};
    const BlocksAhead chosen =
        choose_blocks(*in_.source, max, needs.mean + needs.graphs, [&](const auto& ahead) {
          ExecutionPlan tried = execution;
          set_blocks(tried, needs, ahead);
          return LeftByBlocks{tried.cache_bytes, tried.prefetch};
        });
    set_blocks(execution, needs, chosen);
    plan.heap = chosen.blocks * needs.heap + needs.objects;
  }

  // Divides the ledger for this number of blocks in flight, and for as many blocks ahead as fit, up to
  // `max.prefetch`.
  void set_blocks(ExecutionPlan& execution, const PlanNeeds& needs, const BlocksAhead& max) const {
    const int blocks = execution.blocks = max.blocks;
    execution.slab_bytes = std::clamp<int64_t>(needs.slab(blocks), needs.worst, blocks * needs.worst);
    const int64_t graphs = std::max<int64_t>(needs.graphs, 1);
    const int64_t spare = std::max<int64_t>(needs.slab(blocks) - execution.slab_bytes, 0) / graphs;
    if (teaching_)
      execution.keep = std::min({spare, teaching_->max_at_once, OffloadedTeacher::kMaxBytes / graphs});
    execution.prefetch = std::min(spare - execution.keep, max.prefetch);
    const int64_t rest =
        needs.slab(blocks) - execution.slab_bytes - (execution.keep + execution.prefetch) * graphs;
    execution.cache_bytes = std::clamp<int64_t>(rest, 0, in_.source->max_cache_bytes());
  }

  // Adds the smallest budget, and the budget and expected speed for each number of blocks in flight.
  void add_budgets(MemoryPlan& plan, const PlanNeeds& needs) const {
    ExecutionPlan& execution = plan.execution;
    const auto budget_for = [&](int blocks) {
      return stated(in_.memory.outside_ledger + needs.with(blocks));
    };
    plan.min_budget = budget_for(1);
    if (without_data())
      plan.min_budget = std::max(plan.min_budget, stated(in_.memory.outside_ledger + needs.fixed + probes_));
    for (int blocks = 1; blocks <= in_.memory.threads; ++blocks)
      plan.speed.push_back({budget_for(blocks), blocks, execution.recompute,
                            seconds_per_graph_ > 0 ? blocks / seconds_per_graph_ : 0});
    execution.graphs_per_s = seconds_per_graph_ > 0 ? execution.blocks / seconds_per_graph_ : 0;
  }

  int64_t stated(int64_t budget) const {
    return in_.memory.outside_ledger == 0 ? budget : stated_budget(budget + in_.memory.outside_varies);
  }

  static MemoryPlan::Block worst_of(const PlannedWork& work) {
    if (work.blocks == 0) return {};
    const BlockTerms terms = work.plan->terms(work.worst);
    const BlockPlan::Peak peak = work.plan->peak(terms);
    return {{terms.terms[kGraphs], terms.terms[kNodes], terms.terms[kEdges]},
            peak.bytes,
            work.plan->bytes(terms),
            peak.operation,
            work.kind == WorkKind::training,
            terms,
            work.plan};
  }

  // Runs the worst block twice, in the same way as the run will. The first run finds allocations that the
  // tape did not predict, and makes the BLAS allocate the buffers that it keeps; the second one is timed.
  // Returns the peak.
  int64_t verify(const PlannedWork& work, bool recompute) {
    if (work.blocks == 0) return 0;
    const BlockTerms terms = work.plan->terms(work.worst);
    RangePlan range;
    work.plan->plan(terms, range);
    BlockEngine engine(*in_.source, in_.shapes, *in_.objective, in_.limits,
                       {.recompute = recompute,
                        .device = device(),
                        .device_training = in_.device ? in_.device->training : nullptr,
                        .device_prediction = in_.device ? in_.device->prediction : nullptr},
                       in_.offloaded_teacher);
    GraphBlock block;
    const int64_t pairs = item_kind(work.options.items).pairs(terms.terms);
    block.make_room({terms.terms[kGraphs], terms.terms[kNodes], terms.terms[kEdges], pairs},
                    in_.source->room());
    in_.source->read(work.worst, block);
    const int64_t found = work.record(engine, block, range).peak().bytes;
    const int64_t expected = work.plan->peak(terms_of_read(block, in_.source->widths(), terms)).bytes;
    if (found != expected && work.plan->exact())
      work.plan->set_inexact(fmt::format("the block of {} nodes and {} edges that was run needed {}, not {}",
                                         terms.terms[kNodes], terms.terms[kEdges], format_bytes(found),
                                         format_bytes(expected)));
    const auto start = std::chrono::steady_clock::now();
    const double before = thread_seconds();
    work.record(engine, block, range);
    // A device works while this thread waits for it; on a busy machine, the thread waits for a processor.
    const double seconds = in_.device ? seconds_since(start) : thread_seconds() - before;
    seconds_per_graph_ += seconds / static_cast<double>(std::max<size_t>(work.worst.size(), 1));
    heap_per_block_ = std::max(heap_per_block_, bytes_outside_ledger() - outside_before_);
    return found;
  }

  // Returns an upper bound of the values measured for all models (bench/results/contract.md), used if no
  // product was computed.
  int64_t usual_blas_bytes() const {
    int64_t widest = 0;
    const ParameterList* const of_batches =
        in_.offloaded_teacher != nullptr ? &in_.offloaded_teacher->objective().parameters() : nullptr;
    for (const ParameterList* list : {&in_.objective->parameters(), in_.live_teacher, of_batches})
      if (list != nullptr)
        for (const ParameterList::Entry& entry : list->entries())
          if (entry.name.find("embedding") == std::string::npos)  // Embeddings are looked up, not multiplied.
            for (const int64_t size : entry.value.sizes()) widest = std::max(widest, size);
    return 512 * kKiB + 3 * kKiB * widest;
  }

  const PlanInput& in_;
  const std::chrono::steady_clock::time_point start_;
  const int64_t peak_before_;  // Peak of the ledger since the stage started.
  const int64_t outside_before_ = bytes_outside_ledger();
  std::optional<PlannedWork> teaching_;  // Set if there is an OffloadedTeacher.
  int64_t heap_per_block_ = 0;
  double seconds_per_graph_ = 0;
  int max_blocks_ = 1;       // Number of blocks that fit at the same time in the plan that divide() made
                             // last.
  int64_t probes_peak_ = 0;  // Peak of the ledger while probes ran.
  int64_t probes_ = 0;       // Bytes that running a probe needs.
};

}  // namespace

int64_t stated_budget(int64_t budget) {
  constexpr int64_t kStep = 64 * kKiB;
  return (budget + kFloorSpread + kStep - 1) / kStep * kStep;
}

MemoryPlan make_plan(const PlanInput& input) {
  if (!input.device) return Planner(input).run();
  DevicePlan device = plan_device(input, *input.device);
  PlanInput host = input;
  if (input.device->blocks != nullptr) {
    require_feasible(device);
    host.memory.threads = std::min(input.memory.threads, device.blocks);
    host.recompute = device.recompute ? GradientCheckpointing::on : GradientCheckpointing::off;
    host.later += device.staging;
    host.device->training = device.training;
    host.device->prediction = device.prediction;
  }
  MemoryPlan plan = Planner(host).run();
  plan.device = std::move(device);
  return plan;
}

void try_out(const PlanInput& input, const ExecutionPlan& execution, std::span<const int64_t> predicted,
             MemoryPlan& plan) {
  BlockEngine engine(*input.source, input.shapes, *input.objective, input.limits, execution,
                     input.offloaded_teacher, input.ranks > 1 ? 1 : input.lanes);
  if (!predicted.empty()) engine.predict(predicted, [](std::span<const float>) {});
  if (!input.training.empty()) {
    // Tries only one step of the run, because only blocks of the run were planned.
    GraphList order(input.training.size());
    input.order().graphs_of(1, order);
    engine.try_out(std::span(order).first(std::min(static_cast<size_t>(input.batch_size), order.size())));
  }
  const auto mark_inexact = [](int64_t unforeseen, int64_t reruns, bool& exact, std::string& why) {
    if (unforeseen + reruns == 0) return;
    exact = false;
    why = fmt::format("{} of the blocks that were run differed from the plan, and {} were run again alone",
                      unforeseen, reruns);
  };
  const BlockRunner& runner = engine.runner();
  mark_inexact(runner.unforeseen() + runner.overflows(), runner.reruns(), plan.exact, plan.why_inexact);
  if (const DeviceBlocks* device = execution.device)
    mark_inexact(device->unforeseen(), device->reruns(), plan.device->exact, plan.device->why_inexact);
}

ExecutionPlan require_feasible(const MemoryPlan& plan) {
  if (plan.feasible) return plan.execution;
  std::string text = fmt::format(
      "the largest block ({} graphs, {} nodes, {} edges) needs {}: the smallest budget that works is {} "
      "bytes ({})",
      plan.worst.size.graphs, plan.worst.size.nodes, plan.worst.size.edges,
      format_bytes(plan.worst.range_bytes), plan.min_budget, format_bytes(plan.min_budget));
  if (!plan.too_large.empty())
    text += fmt::format("; graph {} alone, of {} nodes and {} edges, needs {}", plan.too_large.front().graph,
                        plan.too_large.front().nodes, plan.too_large.front().edges,
                        format_bytes(plan.too_large.front().bytes));
  if (plan.table && plan.table_budgets.in_memory)
    text +=
        fmt::format(", or {} bytes with the table of embeddings in memory", *plan.table_budgets.in_memory);
  if (plan.table)
    text += fmt::format("; the table of embeddings also needs {} bytes ({}) on the disk of the run",
                        plan.table->file_bytes, format_bytes(plan.table->file_bytes));
  throw BudgetTooSmall(text + "; raise --budget, or lower training.block");
}

}  // namespace plimsoll
