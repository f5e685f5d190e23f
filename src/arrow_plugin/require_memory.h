#pragma once

#include <arrow/memory_pool.h>
#include <arrow/status.h>

#include <cstdint>

/// Returns an error if this many bytes do not fit in the budget of the pool, or if the user interrupts.
/// Arrow's CSV parser ends the process if it is refused memory within a block, so this is called before each
/// block.
arrow::Status require_memory(arrow::MemoryPool* pool, int64_t bytes);

/// Returns how many bytes the budget of the pool has left.
int64_t free_memory(arrow::MemoryPool* pool);
