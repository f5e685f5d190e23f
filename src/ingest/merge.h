#pragma once

#include "store/merge_shards.h"

namespace plimsoll {

/// Makes of the shards of one data set of any kind the set that a single process would have made, byte for
/// byte: merge_graph() or merge_shards(). Errors: theirs.
Merged merge_any(const MergeRequest& request);

}  // namespace plimsoll
