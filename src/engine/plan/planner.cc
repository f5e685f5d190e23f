#include "engine/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/interrupt.h"
#include "base/seconds.h"
#include "base/units.h"
#include "engine/blocks/item_kind.h"
#include "engine/blocks/order_terms.h"
#include "engine/plan/blas_memory.h"
#include "engine/plan/block_plan.h"
#include "engine/plan/operation_names.h"
#include "engine/plan/planned_work.h"
#include "engine/plan/probes.h"
#include "engine/plan/sample_probes.h"
#include "engine/plan/static_tape.h"
#include "engine/plan/warm_up.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

class Planner {
 public:
  explicit Planner(const PlanInput& input)
      : in_(input), start_(std::chrono::steady_clock::now()), peak_before_(Ledger::process().recent_peak()) {}
  ~Planner() { Ledger::process().end_recent(std::max(peak_before_, probes_peak_)); }
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  MemoryPlan run() {
    PlannedWork prediction(in_, WorkKind::prediction);
    max_at_once_ = prediction.max_at_once;
    if (prediction.blocks > 0) measure(prediction, false);
    if (in_.offloaded_teacher != nullptr) {
      teaching_.emplace(in_, WorkKind::teaching);
      measure(*teaching_, false);
    }
    MemoryPlan plan;
    if (in_.training.empty()) {
      plan = divide(nullptr, prediction, false);
    } else {
      PlannedWork training(in_, WorkKind::training);
      max_at_once_ = std::max(max_at_once_, training.max_at_once);
      plan = with_training(training, prediction);
    }
    // The memory that planning itself used counts as well.
    if (!without_data())
      plan.peak =
          std::max(plan.peak, in_.memory.outside_ledger +
                                  std::max({peak_before_, probes_peak_, Ledger::process().recent_peak()}) +
                                  heap_per_block_);
    if (in_.estimation == "trial" && plan.feasible) try_out(in_, plan.execution, prediction.worst, plan);
    plan.exact = plan.exact && !without_data();
    if (without_data() && plan.why_inexact.empty())
      plan.why_inexact = "nothing was run: needs are upper bounds";
    // A run makes this plan itself, within its budget.
    if (probes_peak_ > 0)
      plan.min_budget = std::max(plan.min_budget, stated(in_.memory.outside_ledger + probes_peak_));
    plan.seconds = seconds_since(start_);
    return plan;
  }

 private:
  MemoryPlan with_training(PlannedWork& training, const PlannedWork& prediction) {
    if (in_.recompute == "on") {
      measure(training, true);
      return divide(&training, prediction, true);
    }
    measure(training, false);
    MemoryPlan whole = divide(&training, prediction, false);
    if (in_.recompute == "off") return whole;
    measure(training, true);
    MemoryPlan again = divide(&training, prediction, true);
    whole.speed.insert(whole.speed.end(), again.speed.begin(), again.speed.end());
    again.speed = whole.speed;
    whole.min_budget = again.min_budget = std::min(whole.min_budget, again.min_budget);
    // A layer that runs again costs up to a third of the time of its block.
    const bool more_at_once = again.execution.blocks * 3 >= whole.execution.blocks * 4;
    if (again.feasible && (!whole.feasible || more_at_once)) {
      again.recompute_note = whole.feasible ? fmt::format("{} blocks in flight, not {}",
                                                          again.execution.blocks, whole.execution.blocks)
                                            : "makes the budget feasible";
      return again;
    }
    whole.recompute_note =
        whole.execution.blocks == in_.memory.threads ? "not needed: all threads have a block" : "no gain";
    return whole;
  }

  bool without_data() const { return in_.estimation == "static"; }
  // The device on which blocks run, so that the host is planned for what remains there; null for the CPU.
  DeviceBlocks* device() const { return in_.device ? in_.device->blocks : nullptr; }

  // Records tapes of probes, solves the model, and measures all blocks by it.
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
      std::vector<Tape> tapes;
      std::vector<Terms> terms;
      int64_t graphs = 0;  // Bytes of the graphs of the probes.
      const auto record = [&](const Probe& probe) {
        if (probe.terms.closed != closed) return;
        throw_if_interrupted("the run was planned");
        tapes.push_back(engine ? work.record(*engine, probe.block)
                               : tape_without_data(*work.objective, probe.terms, widths,
                                                   work.kind == WorkKind::training, recompute));
        terms.push_back(probe.terms.terms);
        graphs += graph_bytes({probe.block.graphs(), probe.block.nodes(), probe.block.edge_count()});
        probes_ = std::max(probes_, graphs + packed_as_they_come(tapes.back()));
      };
      const RowWidths of_probes = engine ? widths : RowWidths();
      if (prefixes_in(box.highest) > 0)
        visit_sample_probes(box.highest, of_probes, work.options, record);
      else
        std::ranges::for_each(make_probes(box.highest, closed, of_probes, work.options), record);
      work.plan->set_model(closed, TapeModel(tapes, terms));
      work.plan->lay_out(closed, box.lowest, box.highest);
    }
    heap_per_block_ = std::max(heap_per_block_, bytes_outside_ledger() - outside_before_);
    if (!without_data()) {
      probes_peak_ = std::max(probes_peak_, Ledger::process().recent_peak());
      give_back_freed_memory();  // Probes were allocated on the heap; blocks will not be.
    }
    work.find_worst();
    // Tries a second layout, for the worst block; the better of the two stays.
    if (work.blocks > 0) {
      work.plan->lay_out(work.plan->terms(work.worst));
      work.find_worst();
    }
  }

  int64_t graph_bytes(const BlockSize& size) const { return GraphBlock::bytes_for(size, in_.source->room()); }

  // Bytes of a plan, and how the slab depends on the number of blocks in flight.
  struct Needs {
    int64_t worst = 0;   // Range that is enough for any block.
    int64_t mean = 0;    // Mean range of blocks.
    int64_t graphs = 0;  // Memory of a worker in the ledger: the graphs of a block, and places of its pieces.
    int64_t heap = 0;    // Memory of a worker outside the ledger.
    int64_t gradients = 0;  // Sums over lanes.
    int64_t exchange = 0;   // Memory for the exchange between ranks.
    int64_t lists = 0;      // Lists of graphs, and what the caller takes later.
    int64_t fixed = 0;      // Everything that does not depend on the blocks in flight.
    int64_t cap = 0;        // Cap of the ledger.

    // Bytes left for the slab with `blocks` blocks in flight.
    int64_t slab(int blocks) const { return cap - fixed - blocks * (graphs + heap); }
    // Bytes of the slab that `blocks` blocks in flight need.
    int64_t ranges(int blocks) const { return worst + (blocks - 1) * std::min(mean, worst); }
    // Bytes of the ledger's cap and of the heap that `blocks` blocks in flight need.
    int64_t with(int blocks) const { return fixed + blocks * (graphs + heap) + ranges(blocks); }
  };

  // Sets the plans of each kind of work, and the largest block.
  void set_work(MemoryPlan& plan, const PlannedWork* training, const PlannedWork& prediction) const {
    ExecutionPlan& execution = plan.execution;
    if (training != nullptr) plan.training = training->plan;
    plan.prediction = prediction.plan;
    execution.training = plan.training;
    execution.prediction = plan.prediction;
    if (teaching_) execution.teaching = teaching_->plan;
    execution.largest = prediction.largest();
    if (training == nullptr) return;
    const BlockSize trained = training->largest();
    execution.largest = {
        std::max(execution.largest.graphs, trained.graphs), std::max(execution.largest.nodes, trained.nodes),
        std::max(execution.largest.edges, trained.edges), std::max(execution.largest.pairs, trained.pairs)};
  }

  // The needs before BLAS buffers are known: `heap` has only the slack.
  Needs needs_of(const PlannedWork& main, const PlannedWork& prediction, const PlannedWork& teaching,
                 const BlockSize& largest) const {
    Needs needs;
    needs.worst = (std::max({main.max_bytes, prediction.max_bytes, teaching.max_bytes, int64_t{1}}) + 4095) /
                  4096 * 4096;
    needs.mean = static_cast<int64_t>(std::max(main.mean_bytes, teaching_ ? teaching_->mean_bytes : 0.0));
    const size_t pieces =
        std::max({main.plan->max_pieces(), prediction.plan->max_pieces(), teaching.plan->max_pieces()});
    needs.graphs = graph_bytes(largest) + static_cast<int64_t>(pieces * sizeof(PlannedPiece));
    needs.heap = heap_slack_per_block(pieces);
    const Ledger& ledger = Ledger::process();
    needs.gradients = gradient_bytes();
    if (in_.ranks > 1)
      needs.exchange = LaneExchange::bytes(in_.objective->parameters(), in_.lanes, in_.ranks);
    needs.lists = list_bytes() + in_.later;
    needs.fixed = ledger.held() + in_.missing.sum() + needs.gradients + needs.exchange + needs.lists;
    needs.cap = in_.memory.cap.value_or(ledger.cap());
    return needs;
  }

  void set_ranks(MemoryPlan& plan) const {
    plan.ranks = in_.ranks;
    if (in_.ranks == 1) return;
    const ParameterList& parameters = in_.objective->parameters();
    plan.bytes_sent = LaneExchange::bytes_sent(parameters, in_.lanes, in_.ranks);
    plan.parameter_bytes = parameters.count() * int64_t{sizeof(float)};
  }

  // Runs the worst blocks if one fits, and adds the BLAS buffers to the needs.
  void measure_worst(MemoryPlan& plan, Needs& needs, const PlannedWork& main, bool recompute) {
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

  // Chooses the number of blocks in flight, and divides the rest among graphs kept, prefetch and cache.
  void divide_ledger(MemoryPlan& plan, const Needs& needs) const {
    ExecutionPlan& execution = plan.execution;
    int blocks = in_.memory.threads;
    while (blocks > 1 && needs.slab(blocks) < needs.ranges(blocks)) --blocks;
    execution.blocks = blocks;
    plan.feasible = needs.slab(blocks) >= needs.worst;
    execution.min_bytes = needs.worst;
    execution.slab_bytes = std::clamp<int64_t>(needs.slab(blocks), needs.worst, blocks * needs.worst);
    const int64_t graphs = std::max<int64_t>(needs.graphs, 1);
    const int64_t spare = std::max<int64_t>(needs.slab(blocks) - execution.slab_bytes, 0) / graphs;
    if (teaching_)
      execution.keep = std::min({spare, teaching_->max_at_once, OffloadedTeacher::kMaxBytes / graphs});
    execution.prefetch = std::min(spare - execution.keep, in_.prefetch);
    const int64_t rest =
        needs.slab(blocks) - execution.slab_bytes - (execution.keep + execution.prefetch) * graphs;
    execution.cache_bytes = std::clamp<int64_t>(rest, 0, in_.source->max_cache_bytes());
    plan.heap = blocks * needs.heap;
  }

  // The smallest budget, and the budget and expected speed of each number of blocks in flight.
  void add_budgets(MemoryPlan& plan, const Needs& needs) const {
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

  // Divides the budget. `training` is null if nothing is trained.
  MemoryPlan divide(const PlannedWork* training, const PlannedWork& prediction, bool recompute) {
    const PlannedWork& main = training != nullptr ? *training : prediction;
    const PlannedWork& teaching = teaching_ ? *teaching_ : prediction;
    MemoryPlan plan;
    plan.execution.recompute = recompute;
    set_work(plan, training, prediction);
    set_ranks(plan);
    Needs needs = needs_of(main, prediction, teaching, plan.execution.largest);
    measure_worst(plan, needs, main, recompute);
    divide_ledger(plan, needs);
    add_budgets(plan, needs);
    for (const PlannedWork* work : {&main, &prediction, &teaching}) {
      if (plan.exact) plan.why_inexact = work->plan->difference();
      plan.exact = plan.exact && work->plan->exact();
    }
    plan.all_blocks_known = main.all_known && prediction.all_known;
    plan.blocks_planned = main.blocks + (training != nullptr ? prediction.blocks : 0);
    add_parts(plan, needs);
    plan.room_for_graph = std::max<int64_t>(needs.slab(1), 0);
    find_too_large(plan, main, plan.room_for_graph);
    add_reading(plan, main.max_bytes > 0 ? main.mean_bytes / static_cast<double>(main.max_bytes) : 1);
    return plan;
  }

  // Adds the cost of reading for several shares of the data. `mean` is the mean range divided by the largest,
  // whose time is known.
  void add_reading(MemoryPlan& plan, double mean) const {
    constexpr double kForward = 1.0 / 3;  // Approximate share of the forward pass in a step.
    const int64_t max = in_.source->max_cache_bytes();
    const auto all = in_.source->reading_cost(max);
    if (!all) return;
    const double blocks =
        static_cast<double>(all->training) + kForward * static_cast<double>(all->validating);
    const double rate = plan.execution.graphs_per_s;
    const double seconds = rate > 0 ? mean * blocks / rate : 0;
    const int64_t without_cache = plan.peak - plan.execution.cache_bytes;
    for (const double share : {0.05, 0.1, 0.2, 0.5, 1.0}) {
      const auto part = static_cast<int64_t>(share * static_cast<double>(all->data));
      const int64_t bytes = share < 1 ? std::min(max, part) : max;
      const ReadingCost cost = *in_.source->reading_cost(bytes);
      plan.reading.push_back({share, std::max(without_cache + bytes, plan.min_budget), seconds, cost.read,
                              cost.written, cost.pieces});
    }
  }

  // Bytes of the lists of where blocks start. There are three at once: of the batch that runs, of the batch
  // announced, and one that grows; and one that is divided among the passes of a teacher. Each may have a
  // capacity of twice its size, and the growing one also its former memory.
  int64_t list_bytes() const {
    const int64_t lists = in_.offloaded_teacher != nullptr ? 4 : 3;
    return (lists * 2 + 1) * int64_t{sizeof(int64_t)} * (max_at_once_ + 1);
  }

  // Bytes that a teacher needs: its weights, or its outputs.
  int64_t teacher_bytes() const {
    if (in_.offloaded_teacher != nullptr) return in_.offloaded_teacher->bytes();
    int64_t bytes = 0;
    if (in_.live_teacher != nullptr)
      for (const ParameterList::Entry& entry : in_.live_teacher->all())
        bytes += heap_bytes(static_cast<int64_t>(entry.value.nbytes()));
    return bytes;
  }

  // Bytes of the sums over lanes (engine/blocks/batch_sum.h).
  int64_t gradient_bytes() const {
    const ParameterList& parameters = in_.objective->parameters();
    if (in_.ranks > 1)
      return RankLanes(in_.lanes, in_.ranks).sets() *
             heap_bytes(Slices(parameters, in_.ranks).row() * int64_t{sizeof(float)});
    int64_t bytes = 0;
    for (const ParameterList::Entry& entry : parameters.entries())
      bytes += LaneTree<BatchSum>::sets(in_.lanes) * heap_bytes(static_cast<int64_t>(entry.value.nbytes()));
    return bytes;
  }

  void add_parts(MemoryPlan& plan, const Needs& needs) const {
    const Ledger& ledger = Ledger::process();
    int64_t embeddings = 0;
    for (const ParameterList::Entry& entry : in_.objective->parameters().entries())
      if (entry.name.find("embedding") != std::string::npos)
        embeddings += entry.value.numel() * int64_t{sizeof(float)};
    int64_t other = ledger.held();
    const PendingAllocation& missing = in_.missing;
    const auto add = [&](const char* name, int64_t bytes) {
      if (bytes > 0) plan.parts.emplace_back(name, bytes);
    };
    for (const Tag tag : {Tag::parameters, Tag::optimizer, Tag::columns}) other -= ledger.held(tag);
    const int64_t weights = in_.live_teacher != nullptr ? teacher_bytes() : 0;
    const int64_t outputs = in_.offloaded_teacher != nullptr ? teacher_bytes() : 0;
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
    plan.peak = in_.memory.outside_ledger + plan.heap;
    for (const auto& [name, bytes] : plan.parts) plan.peak += bytes;
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

  // Runs the worst block twice, as the run will. The first run finds what the tape did not foresee, and makes
  // the BLAS allocate the buffers it keeps; the second is timed. Returns the peak.
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
    const int64_t expected = work.plan->peak(terms).bytes;
    if (found != expected && work.plan->exact())
      work.plan->set_inexact(fmt::format("the block of {} nodes and {} edges that was run took {}, not {}",
                                         terms.terms[kNodes], terms.terms[kEdges], format_bytes(found),
                                         format_bytes(expected)));
    const auto start = std::chrono::steady_clock::now();
    work.record(engine, block, range);
    seconds_per_graph_ += seconds_since(start) / static_cast<double>(std::max<size_t>(work.worst.size(), 1));
    heap_per_block_ = std::max(heap_per_block_, bytes_outside_ledger() - outside_before_);
    return found;
  }

  // Returns an upper bound of the measured values of all models (bench/results/contract.md), as nothing was
  // multiplied.
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

  // Lists the graphs that do not fit alone, if the plan is not feasible.
  void find_too_large(MemoryPlan& plan, const PlannedWork& main, int64_t max_bytes) const {
    const auto look = [&](std::span<const int64_t> graphs) {
      for (const int64_t g : graphs) {
        const BlockTerms terms = main.plan->terms(std::span(&g, 1));
        if (main.boxes[terms.closed ? 1 : 0].count == 0) continue;
        int64_t bytes = main.plan->bytes(terms);
        if (teaching_)
          bytes = std::max(bytes, teaching_->plan->bytes(teaching_->plan->terms(std::span(&g, 1))));
        if (bytes <= max_bytes) continue;
        plan.too_large.push_back({g, terms.terms[kNodes], terms.terms[kEdges], bytes});
      }
    };
    if (plan.feasible || max_bytes == 0) return;  // Without any memory no graph is to blame.
    if (main.kind == WorkKind::training)
      look(in_.training);
    else
      for (const auto& list : in_.predicted) look(list);
    std::ranges::sort(plan.too_large, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    if (plan.too_large.size() > 16) plan.too_large.resize(16);
  }

  const PlanInput& in_;
  const std::chrono::steady_clock::time_point start_;
  const int64_t peak_before_;  // Peak of the ledger since the stage started.
  const int64_t outside_before_ = bytes_outside_ledger();
  std::optional<PlannedWork> teaching_;  // Set if there is an OffloadedTeacher.
  int64_t heap_per_block_ = 0;
  double seconds_per_graph_ = 0;
  int64_t probes_peak_ = 0;  // Peak of the ledger while probes ran.
  int64_t max_at_once_ = 0;  // Maximum number of blocks of a batch or list.
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
    host.recompute = device.recompute ? "on" : "off";
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
    // Only a step of the run is tried, because other blocks were not planned.
    GraphList order(input.training.size());
    input.order().graphs_of(1, order);
    engine.try_out(std::span(order).first(std::min(static_cast<size_t>(input.batch_size), order.size())));
  }
  const auto mark_inexact = [](int64_t unforeseen, int64_t reruns, bool& exact, std::string& why) {
    if (unforeseen + reruns == 0) return;
    exact = false;
    why = fmt::format("{} of the blocks that were tried were not as planned, and {} ran again alone",
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
  throw BudgetTooSmall(text + "; raise --budget, or lower training.block");
}

}  // namespace plimsoll
