#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/verbs.h"
#include "config/recipe.h"

namespace plimsoll {

// Two programs know the verbs that need torch: plimsoll parses and checks their options and then executes
// plimsoll-train or Python (RunsIn), which parses them again and does the work.

struct DeviceOptions {
  std::string device = "cpu";
  std::string budget;  ///< Value of --device-budget; empty: the default of the verb.
  std::string model;   ///< Value of --device-model, from device/device_models.h; empty: any model.
};

struct TrainOptions {
  std::filesystem::path recipe;
  std::filesystem::path data;
  std::filesystem::path run;
  std::vector<std::string> overrides;
  Resources resources;
  int64_t prefetch = 2;
  DeviceOptions device;
  /// Bytes for spilled samples and blocks; unset: four times the graph's columns, within bounds.
  std::optional<int64_t> scratch;
  int ranks = 1;  ///< Number of processes on this machine that train together.
  int64_t seeds = 1;
  std::vector<std::string> stages;  ///< Empty: all stages.
  std::filesystem::path teacher;    ///< Model file of the teacher; empty: a teacher is trained.
  std::string verify = "auto";      ///< "full": verify every checksum; "auto": some, of a large data set.
  bool enforce = false;
  bool profile = false;
  bool resume = false;
  bool allow_other_rounding = false;
  bool force = false;
  bool json = false;
};

struct PlanOptions {
  std::filesystem::path recipe;
  std::filesystem::path data;
  std::vector<std::string> overrides;
  Resources resources;
  int64_t prefetch = 2;
  int ranks = 1;
  std::string network;  ///< Speed of the network between the ranks; empty: no estimate of the run's speed.
  std::optional<Estimation> mode = {};  ///< Empty: memory.estimation of the recipe.
  double graphs_per_s = 0;              ///< Rate to estimate a GPU run's hours from; 0: not stated.
  DeviceOptions device;
  /// Budgets for which models of several sizes are planned; empty: only the model of the recipe is planned.
  std::vector<std::string> table;
  bool profile = false;
  std::filesystem::path snapshot;  ///< Empty: no snapshot.
  bool json = false;
};

struct SlurmOptions {
  std::filesystem::path recipe;
  std::filesystem::path data;
  std::filesystem::path run;
  std::vector<std::string> overrides;
  std::vector<std::string> command;  ///< A verb and its arguments to run instead of `train`; empty: `train`.
  Resources resources;
  DeviceOptions device;
  int ranks = 1;
  double time_margin = 1.3;
  int64_t trial = 20;          ///< Seconds; 0: no trial.
  std::filesystem::path site;  ///< Empty: PLIMSOLL_SITE, otherwise ~/.config/plimsoll/site.yaml.
  bool in_place = false;       ///< The job does not stage a copy of the data.
  bool submit = false;
};

struct EvaluateOptions {
  std::filesystem::path run;
  std::filesystem::path data;
  std::string split;      ///< Empty: all splits that were not used for training.
  bool baseline = false;  ///< Whether to compare with a baseline, for tasks that have one.
  std::shared_ptr<const TaskOptions> of_task;  ///< Options that only some tasks have; null: none.
  std::string verify = "auto";                 ///< Has the same meaning as for train.
  Resources resources;
  DeviceOptions device;
  int ranks = 1;
  bool enforce = false;
  bool json = false;
};

struct PredictOptions {
  std::filesystem::path run;
  std::filesystem::path data;
  std::filesystem::path out;
  std::filesystem::path nodes;  ///< File with the nodes to predict; empty: all.
  bool embeddings = false;
  bool csv = false;
  Resources resources;
  DeviceOptions device;
  int ranks = 1;
  bool enforce = false;
  bool force = false;
  bool json = false;
};

// Each function adds a verb, whose callback calls `run` with the parsed options.
void add_plan(CLI::App& app, const std::function<void(const PlanOptions&)>& run);
void add_train(CLI::App& app, const std::function<void(const TrainOptions&)>& run);
void add_slurm(CLI::App& app, const std::function<void(const SlurmOptions&)>& run);
void add_evaluate(CLI::App& app, const std::function<void(const EvaluateOptions&)>& run);
void add_predict(CLI::App& app, const std::function<void(const PredictOptions&)>& run);

/// Program that runs a verb that needs torch. Ranks run in Python, because torch's Python API creates the
/// process groups.
enum class RunsIn {
  trainer,           ///< plimsoll-train.
  python_for_ranks,  ///< Python if --ranks is more than 1, else plimsoll-train.
  python_as_rank     ///< Python if --ranks is more than 1 or if a launcher started this process as a rank.
};

/// Returns the table of the verbs that need torch. The callback of each calls run(options, RunsIn).
template <typename Run>
std::vector<Verb> trainer_verbs(const Run& run) {
  const auto verb = [&](std::string_view name, auto* add, RunsIn where) {
    return Verb{{name}, [run, add, where](CLI::App& app) {
                  add(app, [run, where](const auto& options) { run(options, where); });
                }};
  };
  return {verb("plan", add_plan, RunsIn::python_for_ranks), verb("train", add_train, RunsIn::python_as_rank),
          verb("slurm", add_slurm, RunsIn::trainer), verb("evaluate", add_evaluate, RunsIn::python_as_rank),
          verb("predict", add_predict, RunsIn::python_as_rank)};
}

/// Identifies this build: the two programs refuse to work together if their builds differ.
const char* build_id();
/// The variable in which plimsoll passes its build to plimsoll-train.
inline constexpr const char* kBuildVariable = "PLIMSOLL_BUILD";

}  // namespace plimsoll
