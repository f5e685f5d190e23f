#pragma once

#include <cstdint>

#include "memory/ledger.h"

namespace plimsoll {

/// Makes torch take the memory of every CPU tensor, 64-byte aligned, out of the slab's range that the thread
/// works in (RangeScope), which stands in the ledger as a whole. Outside one, and where the range is full, it
/// comes from the heap and is entered in the ledger of the process under the tag of the thread's innermost
/// TagScope (Tag::other outside one). Tensors without data (the meta device) take nothing; in a TapeScope
/// they are written down. A tensor that would pass the cap throws BudgetExceeded out of the operation that
/// wanted it, forward or backward. Call it before the first tensor is made; it is never undone.
void install_ledger_allocator();

/// What becomes of a refusal, where torch's callers want another exception than BudgetExceeded: `refuse`
/// throws it, or returns, and BudgetExceeded is thrown. Not thread-safe; call it before
/// install_ledger_allocator().
void set_refusal(void (*refuse)(const BudgetExceeded& refusal));

/// What a tensor of so many bytes takes of the heap, as entered in the ledger.
int64_t heap_bytes(int64_t bytes);

/// While it lives, tensors made by this thread are entered under `tag`.
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
