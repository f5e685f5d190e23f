#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/recipe.h"
#include "engine/fit/fit.h"
#include "io/scratch_file.h"
#include "memory/memory_share.h"
#include "run/run_observer.h"
#include "run/tracker_process.h"

namespace plimsoll {

/// A run to train or to plan, as the user requested it. A plan uses neither the folder nor the members about
/// earlier runs.
struct RunRequest {
  Recipe recipe = {};
  std::filesystem::path data = {};
  std::filesystem::path teacher = {};  ///< Model file to use instead of training a teacher.
  std::filesystem::path folder = {};   ///< Folder of the run.
  int64_t seeds = 1;                   ///< Number of seeds, counting up from the recipe's seed.
  /// Names of the stages to run; they run in the task's order and use the results of earlier runs. Empty:
  /// all.
  std::vector<std::string> stages = {};
  bool verify_all = false;  ///< Compare all checksums, even in a large data set.
  bool resume = false;      ///< Continue the run in the folder, if there is one.
  bool force = false;       ///< Replace an existing run.
  /// Continue, with a warning, a run whose earlier processes rounded differently (engine/fit/rounding.h).
  bool allow_other_rounding = false;

  MemoryShare memory = {};
  int64_t prefetch = 2;                       ///< Maximum number of blocks to read ahead.
  ScratchSpace scratch = {};                  ///< Disk space for the next blocks of one giant graph.
  TrainingDevice* device = nullptr;           ///< Device that runs blocks; null: the CPU.
  std::optional<int64_t> device_budget = {};  ///< Budget of a GPU to plan for without running anything.
  int64_t device_margin = 0;                  ///< PlannedDevice::margin of that GPU.
  int ranks = 1;                              ///< Number of processes of the run.
  Exchange* exchange = nullptr;               ///< Connects the ranks; null if there are none, or for a plan.
  /// When this flag becomes true, the run writes a checkpoint and throws Interrupted; may be null.
  const std::atomic<bool>* interrupt = nullptr;

  /// Whether an error before training names the smallest budget that works; computing it raises the cap of
  /// the ledger. If false, the caller computes it with largest_budget(plan_beyond_budget()).
  bool explains_refusals = true;
  /// Further facts about the program and its limits, for the manifest.
  Json facts = Json::object();
  /// The process that sends the run to its trackers, if the caller has started it; otherwise train_run()
  /// starts it.
  std::shared_ptr<const TrackerProcess> trackers = {};
  RunObserver* observer = &RunObserver::none();  ///< Never null.

  /// Whether this process writes files and reports progress: only rank 0 does.
  bool writes() const { return rank_of(exchange) == 0; }
  /// Whether blocks run on a GPU, or are planned for one.
  bool is_on_device() const { return device != nullptr || device_budget.has_value(); }
  /// Returns the options that all stages share. A stage's folder, its identity, and whether it is resumed are
  /// not set.
  RunOptions stage_options() const;
};

}  // namespace plimsoll
