#pragma once

#include <cstdint>

#include "memory/ledger.h"

namespace plimsoll {

/// Makes torch allocate every CPU tensor, 64-byte aligned, in the thread's current range of a slab
/// (RangeScope). The whole range is already entered in the ledger. If the thread has no range, or the range
/// is full, memory comes from the heap and is entered in the process's ledger under the tag of the thread's
/// innermost TagScope, or Tag::other if there is none. Tensors without data (the meta device) need no memory;
/// in a TapeScope they are recorded. If a tensor would exceed the cap, the operation that allocates it,
/// forward or backward, throws BudgetExceeded. Call this before the first tensor is created; it cannot be
/// undone.
void install_ledger_allocator();

/// Sets a function that is called when memory is refused, for callers that need an exception other than
/// BudgetExceeded. `refuse` throws that exception; if it returns, BudgetExceeded is thrown. Not thread-safe;
/// call it before install_ledger_allocator().
void set_refusal(void (*refuse)(const BudgetExceeded& refusal));

/// Returns the heap bytes that are entered in the ledger for a tensor of `bytes` bytes.
int64_t tensor_heap_bytes(int64_t bytes);

/// For its lifetime, tensors created by this thread are entered under `tag`.
class TagScope {
 public:
  explicit TagScope(Tag tag);
  ~TagScope();
  TagScope(const TagScope&) = delete;
  TagScope& operator=(const TagScope&) = delete;

 private:
  Tag before_;
};

}  // namespace plimsoll
