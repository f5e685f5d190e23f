#include "engine/plan/device_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace plimsoll {

DeviceRun::DeviceRun(TrainingDevice& device, const std::vector<const ParameterList*>& models, int max_streams)
    : device_(device),
      max_streams_(std::min(device.threads(), max_streams)),
      blocks_(device.device(), device.tensors(), device.torch(), models) {}

PlannedDevice DeviceRun::planned() {
  blocks_.make_lanes(0, 0);
  const int64_t free = device_.tensors().bytes() - device_.tensors().in_use() - device_.workspace();
  blocks_.make_lanes(1, std::max<int64_t>(free / DeviceRegion::kAlignment * DeviceRegion::kAlignment, 0));
  return {.budget = device_.context() + device_.tensors().bytes(),
          .context = device_.context(),
          .workspace = device_.workspace(),
          .unit = device_.unit(),
          .max_streams = max_streams_,
          .blocks = &blocks_};
}

ExecutionPlan DeviceRun::execution(const DevicePlan& plan, ExecutionPlan host) {
  require_feasible(plan);
  host.device = &blocks_;
  host.device_training = plan.training;
  host.device_prediction = plan.prediction;
  blocks_.make_lanes(0, 0);
  // The rest of the budget is for blocks that need more memory than was known. A single block always gets it:
  // if the block's plan does not hold, pieces need more space than their planned positions provide.
  const int64_t free = device_.tensors().bytes() - device_.tensors().in_use() - plan.feature_bytes;
  const int64_t of_lane =
      (free / host.blocks - device_.workspace()) / DeviceRegion::kAlignment * DeviceRegion::kAlignment;
  const bool known = plan.exact && host.blocks > 1;
  blocks_.make_lanes(host.blocks, std::max(plan.range, known ? plan.lane : of_lane));
  return host;
}

void DeviceRun::keep_rows(const DevicePlan& plan, const BlockSource& source) {
  if (plan.rows == 0) return;
  try {
    blocks_.keep_rows(*source.feature_rows(), {plan.rows, source.node_features()},
                      plan.staging / blocks_.lanes());
  } catch (const DeviceRegionFull&) {
  } catch (const BudgetExceeded&) {
  }
}

DeviceUse DeviceRun::use(const DevicePlan& plan) const {
  const int lanes = blocks_.lanes();
  const DeviceRows* const rows = blocks_.rows();
  const int64_t of_rows = rows != nullptr ? rows->stretch().bytes : 0;
  int64_t fixed = device_.context() + lanes * device_.workspace() + of_rows;
  for (const auto& [name, bytes] : plan.parts)
    if (name == "parameters" || name == "teacher") fixed += bytes;
  const auto reading = device_.reading();
  return {.name = device_.device().name(),
          .budget = device_.budget(),
          .planned = fixed + lanes * (plan.rows > 0 ? plan.lane : plan.range),
          .measured = fixed + lanes * blocks_.highest_range(),
          .region = device_.tensors().bytes(),
          .process = reading ? std::optional(reading->held) : std::nullopt,
          .lanes = lanes,
          .range = plan.range,
          .highest_range = blocks_.highest_range(),
          .rows = rows != nullptr ? rows->rows() : 0,
          .feature_bytes = of_rows,
          .reruns = blocks_.reruns(),
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
          {"feature_rows", use.rows},
          {"feature_bytes", use.feature_bytes},
          {"reruns", use.reruns},
          {"recompute", use.recompute}};
}

std::string device_in_words(const DeviceUse& use) {
  return fmt::format("{}: {} blocks in flight, each in {} ({} in use); planned {}, used {}, of {}", use.name,
                     use.lanes, format_bytes(use.range), format_bytes(use.highest_range),
                     format_bytes(use.planned), format_bytes(use.measured), format_bytes(use.budget)) +
         (use.rows > 0 ? fmt::format("; {} rows of features on the device ({})", format_count(use.rows),
                                     format_bytes(use.feature_bytes))
                       : "");
}

}  // namespace plimsoll
