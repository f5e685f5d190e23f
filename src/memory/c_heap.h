#pragma once

#include <cstddef>

#include "memory/ledger.h"

namespace plimsoll {

/// malloc and free for C libraries that take their allocator as function pointers. Each allocation is entered
/// in the ledger of the process under `tag`. ledger_malloc returns null if the ledger refuses, as C expects.
void* ledger_malloc(Tag tag, size_t bytes) noexcept;
void ledger_free(void* data) noexcept;

/// Makes malloc map every buffer over 256 KiB separately and unmap it when it is freed, so that the process
/// holds no more than the ledger has entered. For programs with few, long-lived buffers.
void return_large_buffers() noexcept;

/// Returns the freed memory that malloc keeps to the system. The process still holds such memory although it
/// has left the ledger. Called between two kinds of work.
void give_back_freed_memory() noexcept;

/// Makes malloc request at most 1 MiB more from the system than it needs. Some limits count memory held, not
/// memory used; this keeps the two close.
void take_memory_in_small_steps() noexcept;

}  // namespace plimsoll
