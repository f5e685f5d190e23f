#pragma once

#include <cstddef>

#include "memory/ledger.h"

namespace plimsoll {

/// malloc and free for C libraries that take their allocator as function pointers: each piece is entered in
/// the ledger of the process under `tag`. ledger_malloc gives null where the ledger refuses, as C expects.
void* ledger_malloc(Tag tag, size_t bytes) noexcept;
void ledger_free(void* data) noexcept;

}  // namespace plimsoll
