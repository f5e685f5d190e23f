#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "memory/ledger.h"

namespace plimsoll {

/// A standard allocator that enters what it hands out in the ledger of the process, 64-byte aligned.
/// resize() leaves new numbers uninitialised, as a buffer that is about to be filled wants it.
template <typename T, Tag kTag>
class LedgerAllocator {
 public:
  using value_type = T;
  template <typename U>
  struct rebind {  // NOLINT(readability-identifier-naming): the name the standard library looks for
    using other = LedgerAllocator<U, kTag>;
  };
  static constexpr std::align_val_t kAlignment{64};

  LedgerAllocator() = default;
  template <typename U>
  LedgerAllocator(const LedgerAllocator<U, kTag>&) {}

  T* allocate(size_t count) {
    const auto bytes = static_cast<int64_t>(count * sizeof(T));
    Ledger::process().take(kTag, bytes);
    void* data = ::operator new(count * sizeof(T), kAlignment, std::nothrow);
    if (data == nullptr) {
      Ledger::process().give(kTag, bytes);
      throw BudgetExceeded(kTag, bytes, 0, Ledger::process().cap());
    }
    return static_cast<T*>(data);
  }

  void deallocate(T* data, size_t count) noexcept {
    ::operator delete(data, kAlignment);
    Ledger::process().give(kTag, static_cast<int64_t>(count * sizeof(T)));
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

/// A std::vector whose bytes stand in the ledger under a tag. Throws BudgetExceeded where std::bad_alloc is
/// usual.
template <typename T, Tag kTag>
using Vector = std::vector<T, LedgerAllocator<T, kTag>>;

}  // namespace plimsoll
