#include "cli/plan_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "cli/command.h"
#include "cli/open_device.h"
#include "device/cuda_device.h"
#include "device/device_choice.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

void print(const DevicePlan& plan, bool nothing_was_run) {
  Table parts({"<on the device", "bytes", ""});
  for (const auto& [name, bytes] : plan.parts) parts.add({name, format_count(bytes), format_bytes(bytes)});
  parts.add({"peak", format_count(plan.peak), format_bytes(plan.peak)});
  parts.add({"device budget", format_count(plan.budget), format_bytes(plan.budget)});
  fmt::print("{}\n", parts.text());
  fmt::print("worst block: {} graphs, {} nodes, {} edges; {} at its peak in {}, a range of {}\n",
             format_count(plan.worst.graphs), format_count(plan.worst.nodes), format_count(plan.worst.edges),
             format_bytes(plan.worst_bytes), plan.operation, format_bytes(plan.range));
  fmt::print("blocks in flight: {}{}; {} of pinned memory on the host\n", plan.blocks,
             plan.recompute ? ", layers recomputed in backward" : "", format_bytes(plan.staging));
  fmt::print("smallest device budget: {} bytes ({})\n", format_count(plan.min_budget),
             format_bytes(plan.min_budget));
  Table budgets({"device budget", "blocks in flight"});
  for (size_t blocks = 1; blocks <= plan.budget_for.size(); blocks *= 2)
    budgets.add({format_bytes(plan.budget_for[blocks - 1]), std::to_string(blocks)});
  fmt::print("{}", budgets.text());
  if (nothing_was_run)
    fmt::print("not exact: nothing was run, and {} are assumed for the context\n",
               format_bytes(PlannedDevice::kAssumedContext));
  else
    fmt::print("{}\n", plan.exact ? "exact" : "not exact: " + plan.why_inexact);
  if (plan.without_cuda.empty()) return;
  fmt::print("no CUDA kernel, sized as on the CPU: {}\n", fmt::join(plan.without_cuda, ", "));
}

const DevicePlan& largest_device_budget(const StagePlans& plans) {
  return *std::ranges::max_element(plans, {}, [](const auto& plan) {
            return plan.second.device->min_budget;
          })->second.device;
}

}  // namespace

PlansDevice device_of_plan(const PlanOptions& options, int threads) {
  using Kind = DeviceChoice::Kind;
  DeviceChoice device = parse_device(options.device.device);
  if (device.kind == Kind::cpu) {
    if (options.device.budget.empty()) return {};
    throw UsageError("--device-budget works only with a GPU; add --device cuda");
  }
  const bool is_present = device.index < find_cuda_devices().count;
  if (!is_present && device.kind == Kind::automatic) return {};
  const bool runs_blocks = options.mode && options.mode != Estimation::from_shapes;
  if (runs_blocks && !is_present)
    throw UsageError("--mode " + std::string(word_of(*options.mode)) +
                     " runs blocks on the GPU, and this machine has none; remove --mode for a static plan");
  if (!options.table.empty()) throw UsageError("--table plans for the CPU only; remove --device");
  if (runs_blocks) return {.open = open_device(options.device, options.ranks, threads)};
  return {.budget =
              device_budget(options.device.budget,
                            is_present ? std::optional(cuda_device_bytes(device.index)) : std::nullopt)};
}

void print_device_plans(const StagePlans& plans, Estimation mode, bool json) {
  const DevicePlan& largest = largest_device_budget(plans);
  if (json) {
    Json found = device_plan_json(largest);
    found["mode"] = mode;
    found["stages"] = Json::array();
    for (const auto& [stage, plan] : plans) {
      found["stages"].push_back(device_plan_json(*plan.device));
      found["stages"].back()["stage"] = stage;
    }
    print_json({{"device", std::move(found)}});
  } else {
    if (plans.size() > 1) {
      Table table({"<stage", "peak", "smallest device budget", "blocks in flight", "range"});
      for (const auto& [stage, plan] : plans)
        table.add({stage, format_bytes(plan.device->peak), format_bytes(plan.device->min_budget),
                   std::to_string(plan.device->blocks), format_bytes(plan.device->range)});
      fmt::print("{}\nthe stage that needs the most memory:\n", table.text());
    }
    print(largest, mode == Estimation::from_shapes);
  }
  require_feasible(largest);
}

}  // namespace plimsoll
