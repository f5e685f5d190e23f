#include "cli/train_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "engine/plan/start_up.h"
#include "job/usage.h"
#include "run/run_manifest.h"
#include "telemetry/counted.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

const EpochMetrics& best_of(const FitResult& fit) {
  return fit.epochs[static_cast<size_t>(fit.best_epoch) - 1];
}

// Counts of decisions made because memory was short, over all stages.
struct Decisions {
  int64_t reruns = 0, sheds = 0, overflows = 0, unforeseen = 0;

  explicit Decisions(const TrainedRun& trained) {
    for (const auto& [seed, report] : trained.stages) {
      reruns += report.fit.reruns;
      sheds += report.fit.sheds;
      overflows += report.fit.overflows;
      unforeseen += report.fit.unforeseen;
    }
  }
  void print() const {
    const auto print_count = [](const char* description, int64_t count) {
      if (count > 0) fmt::print("{}: {}\n", description, format_count(count));
    };
    print_count("blocks whose tensors differed from the plan", unforeseen);
    print_count("blocks run again alone to stay within the budget", reruns);
    print_count("times memory was returned because the system was short of it", sheds);
    print_count("tensors that did not fit in their block's range", overflows);
  }
};

// Prints the kernel's counts for the whole process, which include all reads and writes.
void print_usage() {
  const Json usage = usage_json();
  if (usage["read_bytes"].is_null()) return;
  fmt::print("process: {} read from disks, {} written, {} of processor time\n",
             format_bytes(usage["read_bytes"].get<int64_t>()),
             format_bytes(usage["written_bytes"].get<int64_t>()),
             format_seconds(usage["cpu_seconds"].get<double>()));
}

void print_one(const StageReport& stage, const TrainReport& report, Budget& budget) {
  const FitResult& fit = stage.fit;
  const EpochMetrics& best = best_of(fit);
  if (fit.initial)
    fmt::print("started from {} tensors of the initial model file\n{}", fit.initial->taken,
               in_words(*fit.initial));
  if (fit.resumed_at > 0) fmt::print("continued after step {}\n", format_count(fit.resumed_at));
  fmt::print("{} with {} parameters: best of {} is {}, loss {:.5f}, validation {:.5f}\n",
             report.trained->model, format_count(stage.parameters), counted(std::ssize(fit.epochs), "epoch"),
             fit.best_epoch, best.training_loss, best.validation_loss);
  if (fit.plan.start_up) fmt::print("{}\n", start_up_in_words(*fit.plan.start_up));
  if (fit.reading) fmt::print("{}\n", reading_in_words(*fit.reading));
  if (fit.reading) print_usage();
  if (fit.device) fmt::print("{}\n", device_in_words(*fit.device));
  fmt::print("{} ({} {}/s in epochs), {} of {} blocks in flight at once, each in {}\n{}\n",
             format_seconds(report.trained->seconds),
             format_count(static_cast<int64_t>(graphs_per_second(stage))), stage.unit,
             fit.plan.execution.blocks, report.threads, format_bytes(fit.plan.worst.range_bytes),
             budget.report());
  fmt::print("planned: {} bytes ({}), {}; smallest budget {}\n", format_count(fit.plan.peak),
             format_bytes(fit.plan.peak), fit.plan.exact ? "exact" : "not exact: " + fit.plan.why_inexact,
             format_bytes(fit.plan.min_budget));
}

void print_all(const TrainReport& report, Budget& budget) {
  Table table({"seed", "<stage", "parameters", "epochs", "best", "validation", "time", "graphs/s", "planned",
               "measured"});
  int64_t planned = 0;
  int64_t smallest = 0;
  for (const auto& [seed, stage] : report.trained->stages) {
    const FitResult& fit = stage.fit;
    const bool trained = !fit.epochs.empty();
    const double rate =
        trained ? graphs_per_second(stage) : static_cast<double>(stage.graphs) / stage.seconds;
    table.add({std::to_string(seed), stage.stage, trained ? format_count(stage.parameters) : "",
               trained ? std::to_string(fit.epochs.size()) : "",
               trained ? std::to_string(fit.best_epoch) : "",
               trained ? fmt::format("{:.5f}", best_of(fit).validation_loss) : "",
               format_seconds(stage.seconds), format_count(static_cast<int64_t>(rate)),
               format_bytes(fit.plan.peak), format_bytes(stage.measured_peak)});
    planned = std::max(planned, fit.plan.peak);
    smallest = std::max(smallest, fit.plan.min_budget);
  }
  fmt::print("{}\n{} in total; {}\nplanned: at most {}; smallest budget {}\n", table.text(),
             format_seconds(report.trained->seconds), budget.report(), format_bytes(planned),
             format_bytes(smallest));
}

}  // namespace

void print_report(const TrainReport& report, Budget& budget) {
  const TrainedRun& trained = *report.trained;
  for (const auto& [seed, stage] : trained.stages)
    for (const std::string& name : stage.fit.damaged)
      fmt::print(stderr, "plimsoll: skipped a damaged checkpoint: {}\n", name);
  fmt::print("trained on {}\n", trained.trained_on);
  if (trained.is_one_model())
    print_one(trained.stages.front().report, report, budget);
  else
    print_all(report, budget);
  Decisions(trained).print();
  if (trained.is_one_model()) fmt::print("weights {}\n", trained.stages.front().report.weights);
  fmt::print("{}\n", trained.file.string());
}

Json report_json(const TrainReport& report, Budget& budget) {
  const TrainedRun& trained = *report.trained;
  const Decisions decisions(trained);
  Json summary = {{"run", report.run.string()},         {"model", trained.file.string()},
                  {"seconds", trained.seconds},         {"reruns", decisions.reruns},
                  {"sheds", decisions.sheds},           {"overflows", decisions.overflows},
                  {"unforeseen", decisions.unforeseen}, {"enforced", report.enforced},
                  {"memory", budget.report_json()},     {"usage", usage_json()}};
  if (!trained.is_one_model()) {
    summary["stages"] = stages_json(trained.stages);
    return summary;
  }
  const StageReport& stage = trained.stages.front().report;
  const FitResult& fit = stage.fit;
  const EpochMetrics& best = best_of(fit);
  summary.update({{"weights", stage.weights},
                  {"parameters", stage.parameters},
                  {"epochs", fit.epochs.size()},
                  {"best_epoch", fit.best_epoch},
                  {"training_loss", best.training_loss},
                  {"validation_loss", best.validation_loss},
                  {"graphs_per_s", graphs_per_second(stage)},
                  {"steps", fit.steps},
                  {"resumed_at", fit.resumed_at},
                  {"damaged", fit.damaged},
                  {"blocks_in_flight", fit.plan.execution.blocks},
                  {"range_bytes", fit.plan.worst.range_bytes},
                  {"slab_bytes", fit.plan.execution.slab_bytes},
                  {"recompute", fit.plan.execution.recompute},
                  {"prefetch", fit.plan.execution.prefetch},
                  {"planned_peak_bytes", fit.plan.peak},
                  {"planned_heap_bytes", fit.plan.heap},
                  {"cache_bytes", fit.plan.execution.cache_bytes}});
  if (fit.plan.start_up) summary["start_up"] = start_up_json(*fit.plan.start_up);
  if (fit.reading) summary["reading"] = reading_json(*fit.reading);
  if (fit.device) summary["device"] = device_json(*fit.device);
  if (fit.initial)
    summary["init_from"] = {{"taken", fit.initial->taken},
                            {"absent", fit.initial->absent},
                            {"other_shape", fit.initial->other_shape},
                            {"unused", fit.initial->unused},
                            {"of_data", fit.initial->of_data}};
  return summary;
}

}  // namespace plimsoll
