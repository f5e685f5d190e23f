#include "cli/train_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/units.h"
#include "cli/card_table.h"
#include "cli/command.h"
#include "cli/plan_device.h"
#include "cli/plan_reading.h"
#include "engine/plan/memory_by_module.h"
#include "engine/plan/network_model.h"
#include "engine/plan/planner.h"
#include "engine/plan/warm_up.h"
#include "io/file.h"
#include "io/replaceable.h"
#include "job/stage.h"
#include "rows/feature_file.h"
#include "run/plan_run.h"
#include "run/plan_savings.h"
#include "run/plan_table.h"
#include "store/graph.h"
#include "telemetry/counted.h"
#include "telemetry/memory_snapshot.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

// Returns the parts of the peak, those of the floor first. They sum to the peak.
std::vector<std::pair<std::string, int64_t>> breakdown(const MemoryPlan& plan, const FloorParts& floor,
                                                       const Budget& budget) {
  std::vector<std::pair<std::string, int64_t>> parts = {
      {"program and torch", budget.floor() - floor.threads - floor.blas},
      {"thread stacks", floor.threads},
      {"BLAS workspaces", floor.blas}};
  int64_t sum = budget.floor();
  for (const auto& part : plan.parts) {
    parts.push_back(part);
    sum += part.second;
  }
  parts.emplace_back("heap not in the ledger", plan.peak - sum);
  return parts;
}

// Whether the blocks of a plan are samples of one giant graph.
bool has_samples(const MemoryPlan& plan) {
  return plan.start_up.has_value();
}

// Returns the unit of the plan's speed.
const char* unit_of(const MemoryPlan& plan) {
  return has_samples(plan) ? "block" : "graph";
}

std::string size_of(const MemoryPlan& plan) {
  const BlockSize& size = plan.worst.size;
  const std::string content = counted(size.nodes, "node") + ", " + counted(size.edges, "edge");
  return has_samples(plan) ? content : counted(size.graphs, "graph") + ", " + content;
}

// Prints where a table of embeddings may be, and what it needs on the disk.
void print_table(const MemoryPlan& plan) {
  const auto& [in_memory, on_disk] = plan.table_budgets;
  if (in_memory && on_disk)
    fmt::print("  with the table of embeddings in memory: {} bytes ({}), on disk: {} bytes ({})\n",
               format_count(*in_memory), format_bytes(*in_memory), format_count(*on_disk),
               format_bytes(*on_disk));
  if (plan.table)
    fmt::print(
        "embeddings on disk: {} rows, {} of them in memory at a time; the file has {} bytes ({}), of which "
        "{} "
        "are kept for the model file\n",
        format_count(plan.table->rows), format_count(plan.table->slots), format_count(plan.table->file_bytes),
        format_bytes(plan.table->file_bytes), format_bytes(plan.table->reserved_bytes));
}

void print(const MemoryPlan& plan, const FloorParts& floor, const Budget& budget, int threads) {
  Table parts({"<", "bytes", ""});
  for (const auto& [name, bytes] : breakdown(plan, floor, budget))
    parts.add({name, format_count(bytes), format_bytes(bytes)});
  parts.add({"peak", format_count(plan.peak), format_bytes(plan.peak)});
  parts.add({"budget", format_count(budget.bytes()), format_bytes(budget.bytes())});
  fmt::print("{}\n", parts.text());
  fmt::print("worst block: {}; {} at its peak in {}, {} of the slab\n", size_of(plan),
             format_bytes(plan.worst.peak_bytes), plan.worst.operation, format_bytes(plan.worst.range_bytes));
  if (plan.verified_peak_bytes > 0)
    fmt::print("  predicted {} bytes, {} when it was run\n", format_count(plan.worst.peak_bytes),
               format_count(plan.verified_peak_bytes));
  fmt::print("blocks in flight: {} of {} threads{}; {} read ahead\n", plan.execution.blocks, threads,
             plan.execution.recompute ? ", layers recomputed in backward" : "", plan.execution.prefetch);
  if (!plan.recompute_note.empty()) fmt::print("recomputing layers in backward: {}\n", plan.recompute_note);
  fmt::print("smallest budget: {} bytes ({})\n", format_count(plan.min_budget),
             format_bytes(plan.min_budget));
  print_table(plan);
  fmt::print(
      "batch size: any fits, because memory depends on the blocks in flight; one {} may need up to {}\n",
      unit_of(plan), format_bytes(plan.max_graph_bytes));
  for (const MemoryPlan::Graph& graph : plan.too_large)
    fmt::print("  {} {} does not fit: {}, {}, {}\n", unit_of(plan), graph.graph, counted(graph.nodes, "node"),
               counted(graph.edges, "edge"), format_bytes(graph.bytes));
  Table speed({"budget", "blocks in flight", "<layers", fmt::format("{}s/s", unit_of(plan))});
  for (const MemoryPlan::Speed& at : plan.speed)
    speed.add({format_bytes(at.budget), std::to_string(at.blocks_in_flight),
               at.recompute ? "run again" : "kept",
               at.graphs_per_s > 0 ? format_count(static_cast<int64_t>(at.graphs_per_s)) : "-"});
  fmt::print("expected speed\n{}", speed.text());
  fmt::print("{}: {} blocks planned{}, in {}\n", plan.exact ? "exact" : "not exact: " + plan.why_inexact,
             format_count(plan.blocks_planned),
             plan.all_blocks_known ? ", all of the run"
             : plan.start_up       ? ", and a bound for those of later epochs"
                                   : ", and the corner of the limits",
             format_seconds(plan.seconds));
}

// Prints the memory of all ranks on this machine and the bytes that they exchange.
void print_ranks(const MemoryPlan& plan, const std::optional<EvaluationNeeds>& evaluation) {
  fmt::print(
      "{0} ranks; the table is for one of them: a machine that runs all needs {1}, or {2} with the smallest "
      "budget\n  each rank sends {3} per step, {4:.2f} times twice the bytes of all parameters, and {5} per "
      "epoch of {6}\n",
      plan.ranks, format_bytes(plan.ranks * plan.peak), format_bytes(plan.ranks * plan.min_budget),
      format_bytes(plan.bytes_sent),
      static_cast<double>(plan.bytes_sent) / static_cast<double>(2 * plan.parameter_bytes),
      format_bytes(bytes_sent_in_epoch(plan)), counted(plan.steps, "step"));
  if (evaluation && evaluation->bytes_sent > 0)
    fmt::print("  to evaluate or predict all nodes, each rank sends up to {}\n",
               format_bytes(evaluation->bytes_sent));
}

// Prints how fast all ranks train over a network, and what the estimate assumes.
void print_network(const MemoryPlan& plan, const Network& network) {
  const RankSpeed speed = estimate_rank_speed(plan, network);
  fmt::print("estimate for a network of {:g} Gb/s, in which a message takes {:g} us\n",
             network.bytes_per_s * 8 / 1e9, network.message_s * 1e6);
  if (speed.compute_s > 0)
    fmt::print(
        "  a step computes for {:.3g} ms and exchanges for {:.3g} ms: {:.3g} {}s/s on {} ranks, {:.0f} % of "
        "{} "
        "times one rank\n  an epoch computes for {:.3g} s and exchanges for {:.3g} s\n",
        speed.compute_s * 1e3, speed.exchange_s * 1e3, speed.graphs_per_s, unit_of(plan), plan.ranks,
        100 * speed.of_perfect, plan.ranks, static_cast<double>(speed.steps) * speed.compute_s,
        static_cast<double>(speed.steps) * speed.exchange_s);
  else
    fmt::print("  a step exchanges for {:.3g} ms; the speed of computing is unknown (--mode measured)\n",
               speed.exchange_s * 1e3);
  fmt::print(
      "  it assumes that each rank computes as fast as this machine did in the plan, that blocks divide "
      "evenly, "
      "that ranks do not compute while they exchange, and that they never wait for data\n");
}

// Prints all stages in a table, then the one that needs the largest budget in detail.
void print_stages(const StagePlans& plans) {
  const bool samples = !plans.empty() && has_samples(plans.front().second);
  Table table({"<stage", "peak", "smallest budget", "blocks in flight", "worst block",
               samples ? "blocks/s" : "graphs/s"});
  for (const auto& [stage, plan] : plans)
    table.add({stage, format_bytes(plan.peak), format_bytes(plan.min_budget),
               std::to_string(plan.execution.blocks), format_bytes(plan.worst.peak_bytes),
               plan.execution.graphs_per_s > 0
                   ? format_count(static_cast<int64_t>(plan.execution.graphs_per_s))
                   : "-"});
  fmt::print("{}\nthe stage that needs the most memory:\n", table.text());
}

std::vector<int64_t> budgets_of(const std::vector<std::string>& texts) {
  const int64_t whole = usable_memory(find_limits());
  std::vector<int64_t> budgets;
  for (const std::string& text : texts) budgets.push_back(parse_size(text, whole));
  std::ranges::sort(budgets);
  return budgets;
}

// Prints a table of the settings that fit each budget.
void print_settings(const std::vector<PlannedSetting>& settings, const std::vector<int64_t>& budgets,
                    bool json) {
  std::vector<std::string> columns = {"hidden", "layers", "smallest budget"};
  for (const int64_t budget : budgets) columns.push_back(format_bytes(budget));
  Table table(columns);
  Json rows = Json::array();
  for (const PlannedSetting& setting : settings) {
    std::vector<std::string> cells = {std::to_string(setting.hidden), std::to_string(setting.layers),
                                      format_bytes(setting.plan.min_budget)};
    Json within = Json::array();
    for (const int64_t budget : budgets) {
      const auto speed = setting.within(budget);
      within.push_back({{"budget_bytes", budget},
                        {"feasible", speed.has_value()},
                        {"blocks_in_flight", speed ? speed->blocks_in_flight : 0},
                        {"graphs_per_s", speed ? speed->graphs_per_s : 0}});
      cells.push_back(!speed ? "-"
                      : speed->graphs_per_s <= 0
                          ? fmt::format("{} in flight", speed->blocks_in_flight)
                          : fmt::format("{} in flight, {:.3g} {}s/s", speed->blocks_in_flight,
                                        speed->graphs_per_s, unit_of(setting.plan)));
    }
    rows.push_back({{"hidden", setting.hidden},
                    {"layers", setting.layers},
                    {"min_budget_bytes", setting.plan.min_budget},
                    {"exact", setting.plan.exact},
                    {"budgets", std::move(within)}});
    table.add(cells);
  }
  if (json)
    print_json({{"settings", std::move(rows)}});
  else
    fmt::print("{}", table.text());
}

void print_profile(const TapeProfile& profile, const std::vector<Saving>& savings) {
  if (profile.at_peak.empty()) {
    fmt::print("\nmemory by module: unknown, because allocations depend on the data\n");
    return;
  }
  Table modules({"<module", "bytes", "", "share"});
  for (const auto& [module, bytes] : profile.at_peak)
    modules.add(
        {module.empty() ? "(no module)" : module, format_count(bytes), format_bytes(bytes),
         fmt::format("{:.1f} %", 100.0 * static_cast<double>(bytes) / static_cast<double>(profile.peak))});
  modules.add({"peak of the worst block", format_count(profile.peak), format_bytes(profile.peak), ""});
  fmt::print("\nheld at the peak of the worst block, in {} (event {} of {})\n{}", profile.operation,
             profile.peak_event + 1, profile.events, modules.text());
  if (savings.empty()) return;
  Table table({"<change", "worst block", "smallest budget", "<weights"});
  for (const Saving& saving : savings)
    table.add({saving.change, "-" + format_bytes(saving.block_bytes), "-" + format_bytes(saving.budget_bytes),
               saving.same_weights ? "the same" : "different"});
  fmt::print("\nwhat would shrink it\n{}", table.text());
}

Json profile_json(const TapeProfile& profile, const std::vector<Saving>& savings) {
  Json json = memory_by_module_json(profile);
  json["savings"] = Json::array();
  for (const Saving& saving : savings)
    json["savings"].push_back({{"change", saving.change},
                               {"block_bytes", saving.block_bytes},
                               {"budget_bytes", saving.budget_bytes},
                               {"same_weights", saving.same_weights}});
  return json;
}

// The error for a budget that is too small has priority: a failure to write the snapshot must not hide it.
void save_snapshot(const MemoryPlan& plan, const std::filesystem::path& path) {
  try {
    save_printed([&] { write_text(path, pickled(snapshot_of(plan.worst))); });
  } catch (const Failure& error) {
    if (plan.feasible) throw;
    fmt::print(stderr, "plimsoll: {}\n", error.what());
  }
}

// The disk's speed is unknown if the budget is too small to measure it.
DiskSpeed disk_of(const std::filesystem::path& graph) {
  const GraphView view(graph);
  if (view.node_features() == 0) return {};  // Embeddings of nodes are in memory.
  const FeatureFile rows = FeatureFile::column(view.set(), "x");
  try {
    return measure_disk(rows.path, rows.layout());
  } catch (const BudgetExceeded&) {
    return {};  // The plan is useful without it.
  }
}

// Returns the folder for the file with samples of a giant graph: TMPDIR or, if it is not set, /var/tmp, which
// is on a disk.
std::filesystem::path folder_for_samples() {
  const char* const given = std::getenv("TMPDIR");
  return given != nullptr && *given != '\0' ? given : "/var/tmp";
}

Json stages_json(const StagePlans& plans) {
  Json stages = Json::array();
  for (const auto& [stage, plan] : plans) {
    stages.push_back(plan_json(plan));
    stages.back()["stage"] = stage;
  }
  return stages;
}

Json network_json(const MemoryPlan& plan, const Network& network) {
  const RankSpeed speed = estimate_rank_speed(plan, network);
  return {{"bytes_per_s", network.bytes_per_s},
          {"message_seconds", network.message_s},
          {"steps", speed.steps},
          {"compute_seconds_a_step", speed.compute_s},
          {"exchange_seconds_a_step", speed.exchange_s},
          {"graphs_per_s", speed.graphs_per_s},
          {"share_of_perfect", speed.of_perfect}};
}

Json breakdown_json(const MemoryPlan& plan, const FloorParts& floor, const Budget& budget) {
  Json parts = Json::object();
  for (const auto& [name, bytes] : breakdown(plan, floor, budget)) parts[name] = bytes;
  return parts;
}

// The details of a plan that are shown in addition to its stages.
struct PlanDetails {
  const MemoryPlan& plan;  // The plan that needs the largest budget.
  TapeProfile profile = {};
  std::vector<Saving> savings = {};
  DiskSpeed disk = {};
  std::optional<EvaluationNeeds> evaluation = {};  // Set if the task can compute it.
};

PlanDetails details_of(const StagePlans& plans, const RunRequest& request, bool profiles) {
  PlanDetails details{largest_budget(plans)};
  if (profiles) {
    details.profile = memory_by_module(details.plan.worst);
    details.savings = savings_of(request);
  }
  if (!details.plan.reading.empty()) details.disk = disk_of(request.data);
  details.evaluation = needs_of_evaluation(request);
  return details;
}

Json plans_json(const StagePlans& plans, const PlanDetails& details, const RunRequest& request,
                const FloorParts& floor, const Budget& budget, bool profiles,
                const std::optional<Network>& network) {
  Json json = plan_json(details.plan);
  if (!details.plan.reading.empty()) json["reading"] = reading_plan_json(details.plan, details.disk);
  json["budget_bytes"] = budget.bytes();
  json["floor_bytes"] = budget.floor();
  json["mode"] = request.recipe.memory.estimation;
  json["threads"] = request.memory.threads;
  json["breakdown"] = breakdown_json(details.plan, floor, budget);
  json["stages"] = stages_json(plans);
  if (details.evaluation) json["evaluation_min_budget_bytes"] = details.evaluation->min_budget;
  if (details.evaluation && details.plan.ranks > 1)
    json["ranks"]["evaluation_bytes_sent"] = details.evaluation->bytes_sent;
  if (network) json["network"] = network_json(details.plan, *network);
  if (profiles) json["profile"] = profile_json(details.profile, details.savings);
  return json;
}

void print_plans(const StagePlans& plans, const PlanDetails& details, const FloorParts& floor,
                 const Budget& budget, int threads, const std::optional<Network>& network) {
  if (plans.size() > 1) print_stages(plans);
  print(details.plan, floor, budget, threads);
  if (!details.plan.reading.empty()) print_reading(details.plan, details.disk);
  if (details.evaluation)
    fmt::print("smallest budget of evaluate: {} bytes ({})\n", format_count(details.evaluation->min_budget),
               format_bytes(details.evaluation->min_budget));
  if (details.plan.ranks > 1) print_ranks(details.plan, details.evaluation);
  if (network) print_network(details.plan, *network);
}

void print_on_device(const StagePlans& plans, const RunRequest& request, const PlansDevice& device,
                     const PlanOptions& options) {
  const PlannedCard* const card = device.card ? &*device.card : nullptr;
  std::optional<CardTable> table;
  if (card != nullptr && card->model != nullptr) table.emplace(request, *card);
  print_device_plans(plans, {.mode = request.recipe.memory.estimation,
                             .card = card,
                             .table = table ? &*table : nullptr,
                             .epochs = request.recipe.training.max_epochs,
                             .graphs_per_s = options.graphs_per_s,
                             .json = options.json});
}

}  // namespace

void run_verb(const PlanOptions& options, Exchange*) {
  require_no_source(options.snapshot, {options.recipe, options.data});
  RunRequest request{.recipe = load_recipe(options.recipe, options.overrides),
                     .prefetch = options.prefetch,
                     .ranks = options.ranks};
  Resources resources = options.resources;
  resources.sharers = options.ranks;
  const int threads = resources.thread_count();
  const PlansDevice device = device_of_plan(options, threads);
  request.device = device.open.get();
  if (device.card) {
    request.device_budget = device.card->budget;
    request.device_margin = device.card->margin;
  }
  std::optional<Network> network;
  if (!options.network.empty()) network.emplace(Network{.bytes_per_s = parse_link_speed(options.network)});
  if (options.mode) request.recipe.memory.estimation = *options.mode;
  if (device.card) request.recipe.memory.estimation = Estimation::from_shapes;
  const std::vector<int64_t> budgets = budgets_of(options.table);
  if (!budgets.empty()) resources.budget_text = std::to_string(budgets.back());
  const FloorParts floor = warm_up_torch(threads);
  Budget budget(resources, 0, kHeapSlack, /*may_be_below=*/true, /*for_elsewhere=*/true);
  request.memory = budget.share(threads);
  request.data = nearest_copy(options.data);
  request.scratch = {.temporary = folder_for_samples()};
  if (!budgets.empty()) return print_settings(plan_settings(request), budgets, options.json);
  const StagePlans plans = plan_within(request);
  if (request.is_on_device() && (options.profile || !options.snapshot.empty()))
    throw UsageError(
        "--profile and --snapshot work only for a plan on the CPU; remove --device and --device-budget");
  if (request.is_on_device()) return print_on_device(plans, request, device, options);
  const PlanDetails details = details_of(plans, request, options.profile);
  if (options.json)
    print_json(plans_json(plans, details, request, floor, budget, options.profile, network));
  else
    print_plans(plans, details, floor, budget, threads, network);
  if (options.profile && !options.json) print_profile(details.profile, details.savings);
  if (!options.snapshot.empty()) save_snapshot(details.plan, options.snapshot);
  require_feasible(details.plan);
}

}  // namespace plimsoll
