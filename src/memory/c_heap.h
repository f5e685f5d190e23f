#pragma once

#include <cstddef>

#include "memory/ledger.h"

namespace plimsoll {

/// malloc and free for C libraries that take their allocator as function pointers. Each allocation is entered
/// in the ledger of the process under `tag`. ledger_malloc returns null if the ledger refuses, as C expects.
void* ledger_malloc(Tag tag, size_t bytes) noexcept;
void ledger_free(void* data) noexcept;

/// Makes malloc take every buffer over 256 KiB from the system and return it when it is freed, so that the
/// process holds no more than the ledger does. For programs with few, long-lived buffers.
void return_large_buffers() noexcept;

/// Returns the freed memory that malloc keeps to the system. The ledger no longer holds it, but the process
/// does. Called where one kind of work ends and another begins.
void give_back_freed_memory() noexcept;

/// Makes malloc ask the system for at most 1 MiB more than it needs, so that memory held and memory used stay
/// close where a limit counts the memory held.
void take_memory_in_small_steps() noexcept;

}  // namespace plimsoll
