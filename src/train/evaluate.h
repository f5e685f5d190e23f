#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "sample/batches.h"
#include "train/metrics.h"
#include "train/model_file.h"
#include "train/split.h"

namespace plimsoll {

/// One detector's figures on one split.
struct DetectorVerdict {
  std::string name;                    ///< "gat", "unknown_id"
  std::optional<Threshold> threshold;  ///< none for a rule
  Verdicts verdicts;
  std::optional<double> auc;
};

/// All detectors on one split.
struct SplitVerdict {
  std::string name;
  int64_t graphs = 0;
  int64_t attack_graphs = 0;
  std::vector<std::string> left_out;  ///< recordings that are copies of training recordings
  std::vector<DetectorVerdict> models;
  std::vector<DetectorVerdict> rules;
};

/// Judges a detector on every split that does not train and, where `split` tells how the data was split when
/// it was trained, on the validation graphs and on attacks left out; `only` names one split. `unknown_id` has
/// the ID rule's verdict for each graph of the source. Recordings whose content was trained on are left out
/// and named; `outside_ledger` as in PlanInput. Errors: BudgetTooSmall.
std::vector<SplitVerdict> evaluate(const BlockSource& source, const DetectorModel& detector,
                                   const std::optional<TrainingSplit>& split,
                                   std::span<const uint8_t> unknown_id, const BlockLimits& limits,
                                   int threads, int64_t outside_ledger, const std::string& only);

/// The fields of `evaluate --json` (docs/command-line.md).
Json verdicts_json(const std::vector<SplitVerdict>& splits, int64_t seed);
/// The table for people.
std::string verdicts_table(const std::vector<SplitVerdict>& splits);

}  // namespace plimsoll
