#include "engine/plan/device_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "device/device_region.h"
#include "engine/blocks/block_engine.h"
#include "engine/plan/operation_names.h"
#include "engine/plan/plan_input.h"
#include "engine/plan/planned_work.h"
#include "engine/plan/probes.h"
#include "engine/plan/sample_probes.h"
#include "engine/plan/static_tape.h"

namespace plimsoll {
namespace {

constexpr AllocationSizes kDeviceRooms{.header = 0, .alignment = DeviceRegion::kAlignment};

int64_t bytes_of(const std::vector<ParameterList::Entry>& entries) {
  int64_t bytes = 0;
  for (const ParameterList::Entry& entry : entries)
    bytes += DeviceRegion::round_up(static_cast<int64_t>(entry.value.nbytes()));
  return bytes;
}

// Returns the pieces of a block's batch, which a tape on a device allocates first.
Tape batch_of(const Tape& tape) {
  Tape batch;
  for (Tape::Piece piece : tape.pieces) {
    if (piece.workspace || piece.module != kBatchModule) continue;
    piece.taken = batch.events++;
    piece.given = Tape::kNever;
    batch.pieces.push_back(piece);
  }
  return batch;
}

// Returns the maximum bytes copied to the device for a block of the box: its whole batch, whatever the block
// requests later.
int64_t max_copied(const TapeProbes& batches, const TermBox& box) {
  const TapeModel model(batches);
  if (!model.same_sequence()) return model.envelope(box.highest);
  std::vector<PlannedAllocation> pieces(model.tape().pieces.size());
  model.highest_rooms(box.lowest, box.highest, pieces);
  int64_t bytes = 0;
  for (const PlannedAllocation& piece : pieces) bytes += piece.bytes;
  return bytes;
}

class DevicePlanner {
 public:
  DevicePlanner(const PlanInput& input, const PlannedDevice& device) : in_(input), device_(device) {
    PlannedWork prediction(in_, WorkKind::prediction);
    if (prediction.blocks > 0) works_.push_back(measured(std::move(prediction), false));
    if (in_.offloaded_teacher != nullptr)
      works_.push_back(measured(PlannedWork(in_, WorkKind::teaching), false));
  }

  DevicePlan run() {
    if (in_.training.empty()) return divide(nullptr, false);
    std::optional<DevicePlan> best;
    const int64_t of_predictions = unplanned_;
    for (const bool recompute : {false, true}) {
      if (in_.recompute == (recompute ? GradientCheckpointing::off : GradientCheckpointing::on)) continue;
      unplanned_ = of_predictions;
      std::optional<PlannedWork> training;
      try {
        training.emplace(measured(PlannedWork(in_, WorkKind::training), recompute));
      } catch (const DeviceRegionFull&) {
        if (recompute || in_.recompute == GradientCheckpointing::off) throw;
        continue;  // A block that does not fit while it is measured does not fit in the run either.
      }
      DevicePlan plan = divide(&*training, recompute);
      if (!best) {
        best = std::move(plan);
        continue;
      }
      std::vector<int64_t> min = plan.budget_for;
      for (size_t b = 0; b < min.size(); ++b) min[b] = std::min(min[b], best->budget_for[b]);
      // A layer that is recomputed costs up to a third of the time of its block (planner.cc).
      const bool more_at_once = plan.blocks * 3 >= best->blocks * 4 && plan.blocks > best->blocks;
      if (more_at_once || (!best->feasible && plan.min_budget < best->min_budget)) best = std::move(plan);
      best->budget_for = std::move(min);
      best->min_budget = best->budget_for.front();
    }
    return *best;
  }

 private:
  PlannedWork measured(PlannedWork work, bool recompute) {
    work.plan = std::make_shared<BlockPlan>(in_.block_shapes(), work.options);
    std::optional<BlockEngine> engine;
    if (device_.blocks != nullptr)
      engine.emplace(*in_.source, in_.shapes, *in_.objective, in_.limits,
                     ExecutionPlan{.recompute = recompute, .device = device_.blocks});
    RowWidths widths = in_.source->widths();
    if (in_.offloaded_teacher != nullptr) widths = in_.offloaded_teacher->with_outputs(widths);
    const NameOperations names;
    for (const bool closed : {false, true}) {
      const TermBox& box = work.boxes[closed ? 1 : 0];
      if (box.count == 0) continue;
      TapeProbes tapes(kDeviceRooms);
      TapeProbes batches(kDeviceRooms);
      const auto add = [&](Tape tape, const Terms& terms) {
        batches.add(batch_of(tape), terms);
        tapes.add(std::move(tape), terms);
      };
      const auto record = [&](const Probe& probe) {
        if (probe.terms.closed != closed) return;
        if (engine)
          return add(try_probe(*engine, probe.block, work.kind == WorkKind::training), probe.terms.terms);
        CudaTape found = cuda_tape_without_data(*work.objective, probe.terms, widths,
                                                work.kind == WorkKind::training, recompute);
        without_cuda_.insert(found.without_cuda.begin(), found.without_cuda.end());
        add(std::move(found.tape), probe.terms.terms);
      };
      const RowWidths of_probes = engine ? widths : RowWidths();
      if (prefixes_in(box.highest) > 0)
        visit_sample_probes(box.highest, of_probes, work.options, record);
      else
        std::ranges::for_each(make_probes(box.highest, closed, of_probes, work.options), record);
      staging_ = std::max(staging_, max_copied(batches, box));
      work.plan->set_model(closed, TapeModel(tapes));
      work.plan->lay_out(closed, box.lowest, box.highest);
    }
    work.find_worst();
    if (work.blocks > 0) {
      work.plan->lay_out(work.plan->terms(work.worst));
      work.find_worst();
    }
    if (engine && work.blocks > 0) verify(work, *engine);
    return work;
  }

  Tape try_probe(BlockEngine& engine, const GraphBlock& block, bool training) {
    try {
      BlockEngine::DeviceRecording found = engine.record_on_device(block, training);
      unplanned_ = std::max(unplanned_, DeviceRegion::round_up(found.bytes));
      return std::move(found.tape);
    } catch (const c10::NotImplementedError& error) {
      // "Could not run 'plimsoll::aggregate' with arguments from the 'CUDA' backend."
      const std::string text = error.what_without_backtrace();
      const size_t begin = text.find('\'') + 1;
      throw UsageError(fmt::format("{}: there is no CUDA kernel; train with --device cpu",
                                   text.substr(begin, text.find('\'', begin) - begin)));
    }
  }

  // Runs the block with the largest range. If torch's operators request other pieces than in small blocks,
  // pieces are placed where there is free space, and a range has the size that this block needed plus a
  // margin.
  void verify(PlannedWork& work, BlockEngine& engine) {
    GraphBlock block;
    in_.source->read(work.worst, block);
    try {
      verify(work, engine, block);
    } catch (const DeviceRegionFull&) {
      const int64_t lane_bytes = device_.blocks->lane_bytes();
      work.plan->set_inexact("the largest block does not fit");
      work.max_bytes = std::max(work.max_bytes, lane_bytes + lane_bytes / 4);
    }
  }
  void verify(PlannedWork& work, BlockEngine& engine, const GraphBlock& block) {
    const bool training = work.kind == WorkKind::training;
    const BlockEngine::DeviceRecording found = engine.record_on_device(block, training);
    staging_ = std::max(staging_, found.staging);
    const int64_t needed = found.bytes;
    unplanned_ = std::max(unplanned_, DeviceRegion::round_up(needed));
    // The pieces of an operator that works tile by tile stop growing once there is more than one tile.
    const bool tight = work.max_bytes <= needed + needed / 4;
    const auto holds = [&] {
      try {
        return engine.record_on_device(block, training, work.plan.get()).as_planned;
      } catch (const DeviceRegionFull&) {
        return false;  // The plan does not hold, and its places leave no space for the other pieces.
      }
    };
    if (work.plan->exact() && tight && holds()) return;
    if (work.plan->exact())
      work.plan->set_inexact("operators request different pieces in large blocks than in small ones");
    const int64_t enough = needed + needed / 64 + kMiB;
    work.max_bytes = work.all_known ? enough : std::max(work.max_bytes, enough);
  }

  DevicePlan divide(const PlannedWork* training, bool recompute) const {
    DevicePlan plan;
    plan.budget = device_.budget;
    plan.recompute = recompute;
    std::vector<const PlannedWork*> works;
    if (training != nullptr) works.push_back(training);
    for (const PlannedWork& work : works_) works.push_back(&work);
    int64_t at_once = 1;
    for (const PlannedWork* work : works) {
      if (plan.exact) plan.why_inexact = work->plan->difference();
      plan.exact = plan.exact && work->plan->exact();
      if (work->plan->exact())
        (work->kind == WorkKind::training ? plan.training : plan.prediction) = work->plan;
      at_once = std::max(at_once, work->max_at_once);
      const int64_t range = DeviceRegion::round_up(work->max_bytes);
      if (range <= plan.range) continue;
      plan.range = range;
      const BlockTerms terms = work->plan->terms(work->worst);
      const BlockPlan::Peak peak = work->plan->peak(terms);
      plan.worst = {terms.terms[kGraphs], terms.terms[kNodes], terms.terms[kEdges]};
      plan.worst_bytes = peak.bytes;
      plan.operation = peak.operation;
    }
    std::vector<std::pair<std::string, int64_t>> resident = resident_parts();
    const int64_t process = device_.context + device_.margin;
    int64_t fixed = process;
    for (const auto& [name, bytes] : resident) fixed += bytes;
    const int64_t a_stream = device_.workspace + plan.range;
    const auto max = static_cast<int>(std::min<int64_t>(device_.max_streams, at_once));
    for (int blocks = 1; blocks <= max; ++blocks) {
      // The run itself computes this plan, within its budget, while tensors have no planned places yet.
      const int64_t region = fixed - process + std::max(blocks * a_stream, device_.workspace + unplanned_);
      plan.budget_for.push_back(process + (region + device_.unit - 1) / device_.unit * device_.unit);
    }
    plan.min_budget = plan.budget_for.front();
    plan.feasible = plan.budget >= plan.min_budget;
    plan.blocks =
        static_cast<int>(std::ranges::upper_bound(plan.budget_for, plan.budget) - plan.budget_for.begin());
    const int blocks = std::max(plan.blocks, 1);
    if (plan.feasible) keep_rows(plan, fixed);
    plan.staging = blocks * std::max(staging_, max_found(works));
    plan.parts = {{"context", device_.context}, {"workspaces", blocks * device_.workspace}};
    if (device_.margin > 0) plan.parts.emplace_back("margin", device_.margin);
    plan.parts.insert(plan.parts.end(), resident.begin(), resident.end());
    plan.parts.emplace_back("blocks in flight", blocks * (plan.rows > 0 ? plan.lane : plan.range));
    if (plan.rows > 0) plan.parts.emplace_back("features", plan.feature_bytes);
    for (const auto& [name, bytes] : plan.parts) plan.peak += bytes;
    plan.without_cuda.assign(without_cuda_.begin(), without_cuda_.end());
    return plan;
  }

  int64_t row_bytes() const { return in_.source->node_features() * int64_t{sizeof(float)}; }

  // Uses the part of the budget that blocks in flight leave for feature rows. A block may need more than is
  // known: an eighth more if its plan is exact, and up to twice as much if it is not.
  void keep_rows(DevicePlan& plan, int64_t fixed) const {
    const FeatureRows* const source = in_.source->feature_rows();
    if (source == nullptr) return;
    plan.lane =
        DeviceRegion::round_up(std::max(plan.range, unplanned_) + (plan.exact ? plan.range / 8 : plan.range));
    const int64_t process = device_.context + device_.margin;
    const int64_t region = (plan.budget - process) / device_.unit * device_.unit;
    const int64_t left = region - (fixed - process) - plan.blocks * (device_.workspace + plan.lane);
    plan.rows = std::clamp<int64_t>((left - DeviceRegion::kAlignment) / row_bytes(), 0,
                                    std::min<int64_t>(source->count(), std::numeric_limits<int32_t>::max()));
    plan.feature_bytes = DeviceRegion::round_up(plan.rows * row_bytes());
  }

  // Maximum pinned bytes of the results of a block: gradients and losses, or predictions and their losses.
  int64_t max_found(const std::vector<const PlannedWork*>& works) const {
    int64_t max = 0;
    for (const PlannedWork* work : works) {
      const BlockSize largest = work->largest();
      const int64_t items = std::max({largest.graphs, largest.nodes, largest.pairs});
      const bool trains = work->kind == WorkKind::training;
      const int64_t numbers = items * (trains ? 1 : 1 + work->objective->outputs());
      max = std::max(max, (trains ? bytes_of(work->objective->parameters().all()) : 0) +
                              DeviceRegion::kAlignment +
                              DeviceRegion::round_up(numbers * int64_t{sizeof(float)}));
    }
    return max;
  }

  // The parts of the budget that stay on the device: parameters and teacher. Gradients and the optimizer's
  // state are on the host.
  std::vector<std::pair<std::string, int64_t>> resident_parts() const {
    std::vector<std::pair<std::string, int64_t>> parts{
        {"parameters", bytes_of(in_.objective->parameters().all())}};
    int64_t teacher = in_.live_teacher != nullptr ? bytes_of(in_.live_teacher->all()) : 0;
    if (in_.offloaded_teacher != nullptr)
      teacher += bytes_of(in_.offloaded_teacher->objective().parameters().all());
    if (teacher > 0) parts.emplace_back("teacher", teacher);
    return parts;
  }

  const PlanInput& in_;
  const PlannedDevice& device_;
  std::vector<PlannedWork> works_;  // Works other than training.
  std::set<std::string> without_cuda_;
  int64_t staging_ = 0;    // Maximum pinned memory of a block.
  int64_t unplanned_ = 0;  // Longest range of a block that ran when its tensors had no planned places.
};

}  // namespace

DevicePlan plan_device(const PlanInput& input, const PlannedDevice& device) {
  return DevicePlanner(input, device).run();
}

void require_feasible(const DevicePlan& plan) {
  if (plan.feasible) return;
  throw BudgetTooSmall(fmt::format(
      "the largest block ({} graphs, {} nodes, {} edges) needs {} on the device; the smallest device "
      "budget that works is {} bytes ({}); raise --device-budget, or lower training.block",
      plan.worst.graphs, plan.worst.nodes, plan.worst.edges, format_bytes(plan.range), plan.min_budget,
      format_bytes(plan.min_budget)));
}

}  // namespace plimsoll
