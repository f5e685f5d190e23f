#pragma once

#include "nn/batch.h"

namespace plimsoll {

/// Returns the index of each node's ID, which is x[:, 0], as i64 [N], for an embedding with `ids` rows.
/// Errors: InputError that names the graph if an index is out of range.
at::Tensor node_ids(const Batch& batch, int64_t ids);
/// Returns the number of each node in a graph of `nodes` nodes without features, as i64 [N]. x, f32 [N, 1],
/// has the bits of a u32 (rows/node_numbers.h). Errors: InputError if a number is out of range.
at::Tensor node_numbers(const Batch& batch, int64_t nodes);

}  // namespace plimsoll
