#include "memory/c_heap.h"

#include <malloc.h>

#include <cstdint>
#include <cstdlib>

namespace plimsoll {
namespace {

// Stored before each allocation. It is as large as malloc's alignment, so the allocation stays aligned.
struct alignas(16) Header {
  int64_t bytes;
  Tag tag;
};

}  // namespace

void* ledger_malloc(Tag tag, size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX - sizeof(Header)) return nullptr;
  const auto whole = static_cast<int64_t>(bytes + sizeof(Header));
  try {
    Ledger::process().take(tag, whole);
  } catch (const BudgetExceeded&) {
    return nullptr;
  }
  auto* const header = static_cast<Header*>(std::malloc(static_cast<size_t>(whole)));
  if (header == nullptr) {
    Ledger::process().give(tag, whole);
    return nullptr;
  }
  *header = {whole, tag};
  return header + 1;
}

void ledger_free(void* data) noexcept {
  if (data == nullptr) return;
  auto* const header = static_cast<Header*>(data) - 1;
  const Header was = *header;
  std::free(header);  // Freed first: memory without an entry would be counted as memory of other code.
  Ledger::process().give(was.tag, was.bytes);
}

void return_large_buffers() noexcept {
  mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  mallopt(M_TRIM_THRESHOLD, 256 * 1024);
}

void give_back_freed_memory() noexcept {
  malloc_trim(0);
}

void take_memory_in_small_steps() noexcept {
  mallopt(M_TOP_PAD, 1 << 20);
}

}  // namespace plimsoll
