#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "config/recipe.h"
#include "config/task_options.h"
#include "engine/blocks/exchange.h"
#include "engine/blocks/training_device.h"
#include "engine/plan/rehearsal.h"
#include "io/unsaved.h"
#include "memory/memory_share.h"
#include "run/run_folder.h"
#include "telemetry/markup.h"

namespace plimsoll {

/// What to evaluate, and with which resources.
struct RunEvaluation {
  RunFolder folder;
  Recipe recipe;  ///< Recipe of the run.
  std::filesystem::path data;
  std::string split = {};  ///< The only split to evaluate; empty: all splits that were not used for training.
  /// Options that only some tasks have; null if none were given.
  std::shared_ptr<const TaskOptions> of_task = {};
  bool baseline = false;  ///< Whether to compare with a baseline, for tasks that have one.
  MemoryShare memory = {};
  /// Connects the ranks that evaluate together; only rank 0 writes. Null if there is one process.
  Exchange* exchange = nullptr;
  TrainingDevice* device = nullptr;  ///< Device that runs blocks; null: the CPU.
  /// If set, it receives the budget that evaluation needs, and nothing is evaluated; null: evaluate.
  Rehearsal* rehearsal = nullptr;
  /// Called repeatedly during a long evaluation, first before any file is created. It may throw to stop the
  /// evaluation.
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};
};

/// The results of an evaluation.
struct EvaluationResult {
  Json json;                   ///< The results, as in evaluation.json.
  std::string table;           ///< The results as text for a terminal.
  std::string notes;           ///< Lines to print after the table; may be empty.
  int64_t graphs = 0;          ///< Number of evaluated items; `unit` names them.
  Markup report;               ///< Contents of report.html; empty for a single split.
  Unsaved unsaved = {};        ///< Requested files that could not be saved.
  const char* unit = "graph";  ///< Name of one item that `graphs` counts.
};

}  // namespace plimsoll
