#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "store/data_set.h"

namespace plimsoll {

/// Returns the texts of the codes of a task's targets, sorted. `target` is their entry in the manifest, and
/// `place` names them in messages. Errors: InputError for a damaged vocabulary.
std::vector<std::string> target_vocabulary(const DataSetView& set, const Json& target,
                                           const std::string& place);

}  // namespace plimsoll
