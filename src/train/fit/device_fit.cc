#include "train/fit/device_fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "train/fit/fit.h"

namespace plimsoll {
namespace {

std::vector<const ParameterList*> lists_of(const FitOptions& options) {
  if (options.run.ranks > 1) throw UsageError("--device cuda is for a run of one process: leave out --ranks");
  if (options.teacher.batches != nullptr)
    throw UsageError(
        "distillation.teacher_outputs: offload asks a teacher on the CPU; with --device cuda set it to live");
  std::vector<const ParameterList*> lists = {&options.objective->parameters()};
  if (options.teacher.live != nullptr) lists.push_back(&options.teacher.live->parameters());
  return lists;
}

}  // namespace

DeviceFit::DeviceFit(TrainingDevice& device, const FitOptions& options)
    : device_(device), blocks_(device.device(), device.tensors(), device.torch(), lists_of(options)) {}

PlannedDevice DeviceFit::planned() {
  const int64_t free = device_.tensors().bytes() - device_.tensors().in_use();
  const int64_t lane = (free - device_.workspace()) / DeviceRegion::kAlignment * DeviceRegion::kAlignment;
  blocks_.make_lanes(1, std::max<int64_t>(lane, 0));
  return {.budget = device_.budget(),
          .context = device_.context(),
          .workspace = device_.workspace(),
          .most_streams = std::min(device_.threads(), PlannedDevice::kMostStreams),
          .blocks = &blocks_};
}

ExecutionPlan DeviceFit::execution(const DevicePlan& plan, ExecutionPlan host) {
  require_feasible(plan);
  host.blocks = std::min(host.blocks, plan.blocks);
  host.slab_bytes = 0;
  host.training = plan.training;
  host.prediction = plan.prediction;
  host.recompute = plan.recompute;
  host.device = &blocks_;
  blocks_.make_lanes(0, 0);
  // What is left of the budget is for blocks that may need more than is known.
  const int64_t free = device_.tensors().bytes() - device_.tensors().in_use();
  const int64_t of_lane =
      (free / host.blocks - device_.workspace()) / DeviceRegion::kAlignment * DeviceRegion::kAlignment;
  blocks_.make_lanes(host.blocks, plan.exact ? plan.range : std::max(plan.range, of_lane));
  return host;
}

DeviceUse DeviceFit::use(const DevicePlan& plan) const {
  const int lanes = blocks_.lanes();
  int64_t fixed = device_.context() + lanes * device_.workspace();
  for (const auto& [name, bytes] : plan.parts)
    if (name == "parameters" || name == "teacher") fixed += bytes;
  return {.name = device_.device().name(),
          .budget = device_.budget(),
          .planned = fixed + lanes * plan.range,
          .measured = fixed + lanes * blocks_.highest_range(),
          .region = device_.tensors().bytes(),
          .process = device_.measured(),
          .lanes = lanes,
          .range = plan.range,
          .highest_range = blocks_.highest_range(),
          .recompute = plan.recompute,
          .why_inexact = plan.why_inexact,
          .min_budget = plan.min_budget};
}

Json device_json(const DeviceUse& use) {
  return {{"name", use.name},
          {"budget_bytes", use.budget},
          {"planned_peak_bytes", use.planned},
          {"measured_peak_bytes", use.measured},
          {"region_bytes", use.region},
          {"process_bytes", use.process ? Json(*use.process) : Json()},
          {"blocks_in_flight", use.lanes},
          {"range_bytes", use.range},
          {"highest_range_bytes", use.highest_range},
          {"exact", use.why_inexact.empty()},
          {"why_inexact", use.why_inexact},
          {"min_budget_bytes", use.min_budget},
          {"recompute", use.recompute}};
}

std::string device_in_words(const DeviceUse& use) {
  return fmt::format("{}: {} blocks in flight, each in {} ({} in use); planned {}, used {}, of {}", use.name,
                     use.lanes, format_bytes(use.range), format_bytes(use.highest_range),
                     format_bytes(use.planned), format_bytes(use.measured), format_bytes(use.budget));
}

}  // namespace plimsoll
