#pragma once

#include <cstddef>

#include "memory/ledger.h"

namespace plimsoll {

/// malloc and free for C libraries that take their allocator as function pointers: each piece is entered in
/// the ledger of the process under `tag`. ledger_malloc gives null where the ledger refuses, as C expects.
void* ledger_malloc(Tag tag, size_t bytes) noexcept;
void ledger_free(void* data) noexcept;

/// Has malloc take every buffer over 256 KiB from the system and give it back when it is freed, so that what
/// the ledger does not hold the process does not hold either. For programs whose buffers are few and
/// long-lived.
void return_large_buffers() noexcept;

/// Returns to the system what malloc keeps of freed memory: the ledger holds it no more, the process still
/// does. Called where one kind of work ends and another begins.
void give_back_freed_memory() noexcept;

/// Has malloc ask the system for 1 MiB more than it needs at most, so that what it holds and what is used
/// stay close where a limit counts the former.
void take_memory_in_small_steps() noexcept;

}  // namespace plimsoll
