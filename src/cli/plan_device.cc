#include "cli/plan_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "cli/card_table.h"
#include "cli/command.h"
#include "cli/open_device.h"
#include "device/cuda_device.h"
#include "device/device_choice.h"
#include "device/device_models.h"
#include "device/stand_in.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

// Returns why a plan made without running anything is not exact.
std::string assumptions(const DeviceModel* model) {
  const std::string context =
      fmt::format("nothing was run, and {} are assumed for the context, as measured on an H200",
                  format_bytes(PlannedDevice::kAssumedContext));
  if (model == nullptr || model->is_measured) return context;
  return fmt::format("{}; it was not measured on {}, so {} are left free as a margin", context, model->name,
                     format_bytes(PlannedDevice::kMarginOfUnmeasured));
}

void print(const DevicePlan& plan, const PlannedCard* card) {
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
  if (card != nullptr)
    fmt::print("not exact: {}\n", assumptions(card->model));
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

// Returns the hours of training at the rate that the user states. A validated graph counts half, because only
// the forward pass runs (trial_run.cc).
double hours_of(const StagePlans& plans, const DevicePlanView& view) {
  double graphs = 0;
  for (const auto& [stage, plan] : plans)
    graphs += static_cast<double>(plan.training_graphs) + 0.5 * static_cast<double>(plan.validation_graphs);
  constexpr double kHour = 3600;
  return graphs * static_cast<double>(view.epochs) / view.graphs_per_s / kHour;
}

void print_hours(const StagePlans& plans, const DevicePlanView& view) {
  if (view.graphs_per_s > 0)
    fmt::print(
        "hours: {:.3g} for {} epochs at the stated {:g} graphs/s, which is not scaled to another model\n",
        hours_of(plans, view), view.epochs, view.graphs_per_s);
  else
    fmt::print(
        "hours: not estimated; give --graphs-per-s the rate of a run on this model (graphs_per_s in its "
        "metrics.csv)\n");
}

Json plans_json(const StagePlans& plans, const DevicePlan& largest, const DevicePlanView& view) {
  Json found = device_plan_json(largest);
  found["mode"] = view.mode;
  found["stages"] = Json::array();
  for (const auto& [stage, plan] : plans) {
    found["stages"].push_back(device_plan_json(*plan.device));
    found["stages"].back()["stage"] = stage;
  }
  if (view.card != nullptr && view.card->model != nullptr) {
    found["model"] = view.card->model->name;
    found["context_is_measured"] = view.card->model->is_measured;
  }
  if (view.graphs_per_s > 0) found["hours"] = hours_of(plans, view);
  if (view.table != nullptr) found.update(view.table->json());
  return found;
}

void print_plans(const StagePlans& plans, const DevicePlan& largest, const DevicePlanView& view) {
  if (plans.size() > 1) {
    Table table({"<stage", "peak", "smallest device budget", "blocks in flight", "range"});
    for (const auto& [stage, plan] : plans)
      table.add({stage, format_bytes(plan.device->peak), format_bytes(plan.device->min_budget),
                 std::to_string(plan.device->blocks), format_bytes(plan.device->range)});
    fmt::print("{}\nthe stage that needs the most memory:\n", table.text());
  }
  print(largest, view.card);
  print_hours(plans, view);
  if (view.table != nullptr) view.table->print();
}

// Returns the total bytes of a device; nullopt if this machine does not have it.
std::optional<int64_t> bytes_here(const DeviceChoice& choice) {
  if (choice.kind == DeviceChoice::Kind::stand_in) {
    require_stand_in();
    return kStandInBytes;
  }
  if (choice.index >= find_cuda_devices().count) return {};
  return cuda_device_bytes(choice.index);
}

}  // namespace

std::optional<PlannedCard> planned_card(const DeviceOptions& device) {
  const DeviceChoice choice = parse_device(device.device);
  if (choice.kind == DeviceChoice::Kind::cpu) {
    if (device.budget.empty() && device.model.empty()) return {};
    throw UsageError(fmt::format("--device-{} works only with a GPU; add --device cuda",
                                 device.budget.empty() ? "model" : "budget"));
  }
  const DeviceModel* const model = device.model.empty() ? nullptr : &find_device_model(device.model);
  const std::optional<int64_t> here = bytes_here(choice);
  if (!here && model == nullptr && choice.kind == DeviceChoice::Kind::automatic) return {};
  const bool is_measured = model == nullptr || model->is_measured;
  return PlannedCard{.model = model,
                     .budget = device_budget(device.budget, model != nullptr ? model->bytes : here),
                     .margin = is_measured ? 0 : PlannedDevice::kMarginOfUnmeasured};
}

PlansDevice device_of_plan(const PlanOptions& options, int threads) {
  PlansDevice device{.card = planned_card(options.device)};
  if (!device.card) return {};
  if (!options.table.empty()) throw UsageError("--table plans for the CPU only; remove --device");
  if (!options.mode || options.mode == Estimation::from_shapes) return device;
  if (!bytes_here(parse_device(options.device.device)))
    throw UsageError("--mode " + std::string(word_of(*options.mode)) +
                     " runs blocks on the GPU, and this machine has none; remove --mode for a static plan");
  return {.open = open_device(options.device, nullptr, threads)};
}

void print_device_plans(const StagePlans& plans, const DevicePlanView& view) {
  const DevicePlan& largest = largest_device_budget(plans);
  if (view.json)
    print_json({{"device", plans_json(plans, largest, view)}});
  else
    print_plans(plans, largest, view);
  require_feasible(largest);
}

}  // namespace plimsoll
