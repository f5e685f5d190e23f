#pragma once

#include <string>

#include "base/json.h"
#include "run/run_folder.h"
#include "run/task.h"

namespace plimsoll {

/// Returns a hash of everything that determines the weights of a run: recipe, data and teacher. It does not
/// cover what may change when a run continues: the interval of checkpoints, the recomputation of layers, the
/// recipe sections `memory` and `run` and, if the task can be made longer (Task::can_be_made_longer()), the
/// patience and, unless the schedule is cosine, the number of epochs. It does not cover how a process rounds
/// either. Errors: InputError if a weight file of the recipe or the teacher cannot be read.
std::string identity_of(const RunRequest& request, const TrainingData& data);

/// Records that earlier processes of a run left in its folder.
struct EarlierRun {
  std::string identity;
  Json roundings = Json::array();  ///< The manifest's `roundings`; empty if an older version recorded none.
  Json stages = {};                ///< The manifest's `stages`; null if there are none.
  Json starts = {};                ///< The manifest's `starts`; null if there are none.
};

/// Reads the manifest or, if it is missing or damaged, checkpoints, with a message to stderr; changes no
/// file. Errors: InputError if neither contains the identity of the run; UsageError if the identity differs
/// from `identity`.
EarlierRun read_earlier_run(const RunFolder& folder, const std::string& identity);

/// Returns earlier.roundings, followed by the rounding of this process if it differs from the last entry. In
/// that case `allow_other` must be true, and a warning is printed to stderr. Returns only the rounding of
/// this process if the run has no results yet, or if earlier.roundings is empty, which is reported on stderr.
/// Errors: UsageError if it differs and `allow_other` is false.
Json roundings_with_this(const RunFolder& folder, const EarlierRun& earlier, bool allow_other);

}  // namespace plimsoll
