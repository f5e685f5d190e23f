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

/// How a trained run is to be evaluated.
struct RunEvaluation {
  RunFolder folder;
  Recipe recipe;  ///< Recipe of the run.
  std::filesystem::path data;
  std::string split = {};  ///< The only split to evaluate; empty: all splits that did not train.
  /// Options that only some tasks have; null: none was given.
  std::shared_ptr<const TaskOptions> of_task = {};
  MemoryShare memory = {};
  /// Connects the ranks that evaluate together, of which rank 0 writes; null without ranks.
  Exchange* exchange = nullptr;
  TrainingDevice* device = nullptr;  ///< Blocks run on this device; null: on the CPU.
  /// If set, it receives the budget that evaluation needs, and nothing is evaluated; null: evaluate.
  Rehearsal* rehearsal = nullptr;
  /// Called from time to time during long evaluations, for the first time before any file is made. It may
  /// throw to stop.
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};
};

/// The results of an evaluation.
struct EvaluationResult {
  Json json;
  std::string table;
  std::string notes;
  int64_t graphs = 0;    ///< How many `unit` were evaluated.
  Markup report;         ///< Contents of report.html; empty for a single split.
  Unsaved unsaved = {};  ///< Requested files that could not be saved.
  const char* unit = "graph";
};

}  // namespace plimsoll
