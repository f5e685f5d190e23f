#pragma once

#include "nn/batch.h"

namespace plimsoll {

/// Returns the index of each node's ID, which is x[:, 0], as i64 [N], for an embedding with `ids` rows.
/// Errors: InputError that names the graph if an index is out of range.
at::Tensor node_ids(const Batch& batch, int64_t ids);

}  // namespace plimsoll
