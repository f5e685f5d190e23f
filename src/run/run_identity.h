#pragma once

#include <string>

#include "base/json.h"
#include "run/run_folder.h"
#include "run/task.h"

namespace plimsoll {

/// A hash of everything that decides the weights of a run: recipe, data and teacher. Most runs may be made
/// longer, and all may have checkpoints more often and layers recomputed. How a process rounds is no part of
/// it.
std::string identity_of(const TrainingInput& input, const TrainingData& data);

/// What earlier processes recorded of the run in a folder.
struct EarlierRun {
  std::string identity;
  Json roundings = Json::array();  ///< as in the manifest; empty: an older version recorded none
  Json stages = {};                ///< those of the manifest; null: it is damaged
  Json starts = {};
};

/// Reads the manifest or, where it is damaged, checkpoints; nothing of the run is touched. Errors: InputError
/// where neither says what the run was made from; UsageError for a run of another identity.
EarlierRun read_earlier_run(const RunFolder& folder, const std::string& identity);

/// The roundings of a run with that of this process, which goes on with it: the manifest's `roundings`. Where
/// the last one differs, stderr has a warning if `allow_other` is given. Errors: UsageError otherwise.
Json roundings_with_this(const RunFolder& folder, const EarlierRun& earlier, bool allow_other);

}  // namespace plimsoll
