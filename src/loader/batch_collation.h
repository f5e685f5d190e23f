#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loader/batch_fields.h"
#include "loader/batch_memory.h"
#include "store/graph_set.h"

namespace plimsoll {

/// Graphs as one disconnected graph: a tensor for each field of BatchFields, row-major, the rows of the
/// graphs one behind the other, edge_index counting nodes in the whole batch.
struct CollatedBatch {
  BatchCounts counts;
  std::vector<BatchBuffer> tensors;  ///< [kBatchFields]; a field that is left out has 0 bytes

  BatchBuffer& operator[](BatchField field) { return tensors[static_cast<size_t>(field)]; }
};

/// Copies the rows of `graphs`, in their order. Errors: InputError for a graph whose pointers or edges point
/// outside of it; BudgetExceeded.
CollatedBatch collate(const GraphSetView& set, const BatchFields& fields, std::span<const int64_t> graphs,
                      BatchMemory& memory);

}  // namespace plimsoll
