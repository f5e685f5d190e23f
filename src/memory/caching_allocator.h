#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/ledger.h"

namespace plimsoll {

/// Large pieces of memory, each mapped for itself, of which freed ones are kept for those that come: their
/// pages need not be asked of the system, and cleared by it, again. What is kept stands in the ledger of the
/// process as spare (Ledger::add_spare), and goes back to the system where the cap leaves no room for it. All
/// functions are thread-safe, and the child of a fork() may call them.
class CachingAllocator {
 public:
  /// From so many bytes on it is worth it.
  static constexpr int64_t kMin = int64_t{256} << 10;

  /// Freed pieces are kept while one of these lives. What was kept without one goes back to the system first,
  /// so that a budget starts without it.
  class Keeping {
   public:
    Keeping();
    ~Keeping();
    Keeping(const Keeping&) = delete;
    Keeping& operator=(const Keeping&) = delete;
  };
  /// Has freed pieces kept without that, too, but no more than so many bytes: where there is no room for one
  /// more, all go back to the system.
  static void keep_at_most(int64_t bytes);
  static bool keeping();
  /// Gives what is kept back to the system.
  static void drop() noexcept;

  /// A piece of so many bytes, aligned to a page, that the caller has entered in the ledger; null where the
  /// system has none.
  static void* take(int64_t bytes);
  /// Gives it back and strikes it out of the ledger; `bytes` as it was taken, under the same tag. A piece
  /// that goes back to the system stands in the ledger until it is there, or it would pass for memory of
  /// others.
  static void give(void* piece, int64_t bytes, Tag tag) noexcept;
};

}  // namespace plimsoll
