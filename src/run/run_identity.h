#pragma once

#include <string>

#include "base/json.h"
#include "run/run_folder.h"
#include "run/task.h"

namespace plimsoll {

/// A hash of everything that decides the weights of a run: recipe, data and teacher. It does not cover what
/// may change when a run continues: for most tasks the number of epochs, and for all the interval of
/// checkpoints and the recomputation of layers. It does not cover how a process rounds.
std::string identity_of(const RunRequest& request, const TrainingData& data);

/// The records of earlier processes about the run in a folder.
struct EarlierRun {
  std::string identity;
  Json roundings = Json::array();  ///< As in the manifest; empty if an older version recorded none.
  Json stages = {};                ///< As in the manifest; null if the manifest is damaged.
  Json starts = {};
};

/// Reads the manifest or, if it is damaged, checkpoints; changes nothing. Errors: InputError if neither says
/// what the run was made from; UsageError for a run of another identity.
EarlierRun read_earlier_run(const RunFolder& folder, const std::string& identity);

/// Returns the manifest's `roundings` of a run, with that of this process, which continues it. If the last
/// one differs and `allow_other` is true, prints a warning to stderr. Errors: UsageError if it differs and
/// `allow_other` is false.
Json roundings_with_this(const RunFolder& folder, const EarlierRun& earlier, bool allow_other);

}  // namespace plimsoll
