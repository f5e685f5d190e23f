#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "store/data_set.h"

namespace plimsoll {

/// Returns the text of each code of a task's targets. A valid data set has them in the order of their bytes.
/// `target` is the entry of the targets in the manifest, and `place` names them in messages. Errors:
/// InputError for a damaged vocabulary.
std::vector<std::string> target_vocabulary(const DataSetView& set, const Json& target,
                                           const std::string& place);

}  // namespace plimsoll
