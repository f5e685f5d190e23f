#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/json.h"
#include "config/recipe.h"
#include "engine/blocks/exchange.h"
#include "engine/blocks/training_device.h"
#include "engine/plan/rehearsal.h"
#include "io/unsaved.h"
#include "run/run_folder.h"
#include "telemetry/markup.h"

namespace plimsoll {

/// How a trained run is to be judged.
struct RunEvaluation {
  RunFolder folder;
  Recipe recipe;  ///< of the run
  std::filesystem::path data;
  std::string split = {};                ///< this one alone; empty: all that did not train
  std::filesystem::path compare = {};    ///< figures of others to show beside ours; empty: none
  std::filesystem::path scores = {};     ///< where the score of every window goes; empty: nowhere
  std::filesystem::path attention = {};  ///< where attention by edge goes, of a GAT; empty: nowhere
  int64_t calibrate = -1;                ///< windows of each recording; below 0: as the recipe says
  bool ablation = false;
  int threads = 1;
  int64_t outside_ledger = 0;    ///< bytes of the budget that the ledger does not have
  Exchange* exchange = nullptr;  ///< with the ranks that judge together, of which rank 0 writes; null: none
  TrainingDevice* device = nullptr;  ///< blocks run there; null: on the CPU
  Rehearsal* rehearsal = nullptr;    ///< learns which budget that needs; null: it is no rehearsal
  /// Called now and then where judging takes long, first before any file is made; may throw to end it.
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};
};

/// What the verdicts on a run come to.
struct Findings {
  Json json;
  std::string table;
  std::string notes;
  int64_t graphs = 0;
  Markup report;         ///< report.html; empty for one split alone
  Unsaved unsaved = {};  ///< scores and attention that were asked for
};

}  // namespace plimsoll
