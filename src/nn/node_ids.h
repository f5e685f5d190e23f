#pragma once

#include "nn/batch.h"

namespace plimsoll {

/// The index of each node's ID, x[:, 0], i64 [N], for an embedding of so many. Errors: InputError that names
/// the graph where an index is none of them.
at::Tensor node_ids(const Batch& batch, int64_t ids);

}  // namespace plimsoll
