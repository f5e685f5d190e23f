#pragma once

#include <cstddef>

#include "memory/ledger.h"

namespace plimsoll {

/// malloc and free for C libraries that take their allocator as function pointers. Each allocation is entered
/// in the ledger of the process under `tag` with a header of 16 bytes. ledger_malloc returns memory aligned
/// to 16 bytes, or null, as C expects, if the ledger or malloc refuses. ledger_free accepts null, and
/// otherwise only memory of ledger_malloc. Thread-safe.
void* ledger_malloc(Tag tag, size_t bytes) noexcept;
void ledger_free(void* data) noexcept;

/// Makes malloc map every buffer of 256 KiB or more separately and unmap it when it is freed, for the rest of
/// the process. Freed buffers then do not stay with the process after they have left the ledger. For programs
/// with few, long-lived buffers.
void return_large_buffers() noexcept;

/// Returns the freed memory that malloc keeps to the system. The process still holds such memory although it
/// has left the ledger. Called between two kinds of work.
void give_back_freed_memory() noexcept;

/// Makes malloc request at most 1 MiB more from the system than it needs, for the rest of the process. Some
/// limits count memory held, not memory used; this keeps the two close.
void take_memory_in_small_steps() noexcept;

}  // namespace plimsoll
