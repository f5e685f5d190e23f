#pragma once

#include <string>

#include "base/json.h"
#include "run/run_folder.h"
#include "run/task.h"

namespace plimsoll {

/// Returns a hash of everything that determines the weights of a run: recipe, data and teacher. It does not
/// cover what may change when a run continues: for most tasks the number of epochs, and for all tasks the
/// interval of checkpoints and the recomputation of layers. It does not cover how a process rounds either.
std::string identity_of(const RunRequest& request, const TrainingData& data);

/// Records that earlier processes of a run left in its folder.
struct EarlierRun {
  std::string identity;
  Json roundings = Json::array();  ///< The manifest's `roundings`; empty if an older version recorded none.
  Json stages = {};                ///< The manifest's `stages`; null if the manifest is damaged.
  Json starts = {};                ///< The manifest's `starts`; null if the manifest is damaged.
};

/// Reads the manifest or, if it is damaged, checkpoints; changes nothing. Errors: InputError if neither
/// contains the identity of the run; UsageError if the identity differs from `identity`.
EarlierRun read_earlier_run(const RunFolder& folder, const std::string& identity);

/// Returns the `roundings` of a run's manifest, followed by the rounding of this process if it differs from
/// the last entry. In that case `allow_other` must be true, and a warning is printed to stderr. Errors:
/// UsageError if it differs and `allow_other` is false.
Json roundings_with_this(const RunFolder& folder, const EarlierRun& earlier, bool allow_other);

}  // namespace plimsoll
