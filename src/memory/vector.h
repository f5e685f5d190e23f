#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "memory/ledger.h"

namespace plimsoll {

/// A standard allocator that enters its allocations in the ledger of the process. They are 64-byte aligned.
/// resize() leaves new values of types such as numbers uninitialised, because they are about to be
/// overwritten.
template <typename T, Tag kTag>
class LedgerAllocator {
 public:
  using value_type = T;
  template <typename U>
  struct rebind {  // NOLINT(readability-identifier-naming): the name the standard library looks for
    using other = LedgerAllocator<U, kTag>;
  };
  static constexpr size_t kAlignment = 64;

  LedgerAllocator() = default;
  template <typename U>
  LedgerAllocator(const LedgerAllocator<U, kTag>&) {}

  T* allocate(size_t count) {
    const auto bytes = static_cast<int64_t>(count * sizeof(T));  // NOLINT: of a pointer too
    Ledger::process().take(kTag, bytes);
    // Aligned by hand: glibc's aligned_alloc does not reuse the memory it freed, so the heap would grow.
    void* const piece = std::malloc(static_cast<size_t>(bytes) + kAlignment + sizeof(void*));
    if (piece == nullptr) {
      Ledger::process().give(kTag, bytes);
      throw BudgetExceeded(kTag, bytes, 0, Ledger::process().cap());
    }
    auto* const first = static_cast<std::byte*>(piece) + sizeof(void*);
    const size_t past = reinterpret_cast<uintptr_t>(first) % kAlignment;
    auto* const data = reinterpret_cast<void**>(first + (kAlignment - past) % kAlignment);
    data[-1] = piece;
    return reinterpret_cast<T*>(data);
  }

  void deallocate(T* data, size_t count) noexcept {
    std::free(reinterpret_cast<void**>(data)[-1]);
    Ledger::process().give(kTag, static_cast<int64_t>(count * sizeof(T)));  // NOLINT: of a pointer too
  }

  template <typename U>
  void construct(U* at) {
    if constexpr (!std::is_trivially_default_constructible_v<U>) ::new (static_cast<void*>(at)) U();
  }
  template <typename U, typename... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }

  friend bool operator==(const LedgerAllocator&, const LedgerAllocator&) { return true; }
};

/// A std::vector whose bytes are entered in the ledger under a tag. Throws BudgetExceeded instead of
/// std::bad_alloc.
template <typename T, Tag kTag>
using Vector = std::vector<T, LedgerAllocator<T, kTag>>;

}  // namespace plimsoll
