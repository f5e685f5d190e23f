#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/ledger.h"

namespace plimsoll {

/// Allocates large buffers, each mapped separately, and keeps freed ones for reuse, so that the system need
/// not map and clear their pages again. Kept buffers are spare bytes in the ledger of the process
/// (Ledger::add_spare). They return to the system when the cap leaves no space for them. All functions are
/// thread-safe, and the child of a fork() may call them.
class CachingAllocator {
 public:
  /// Minimum size in bytes for which caching is worthwhile.
  static constexpr int64_t kMin = int64_t{256} << 10;

  /// Freed buffers are kept while any object of this class lives. The first such object returns the buffers
  /// kept before it to the system, so that a budget starts without them; the destructor of the last one
  /// returns all kept buffers.
  class Keeping {
   public:
    Keeping();
    ~Keeping();
    Keeping(const Keeping&) = delete;
    Keeping& operator=(const Keeping&) = delete;
  };
  /// Keeps up to `bytes` of freed buffers even without a Keeping. If the next freed buffer does not fit, all
  /// kept ones return to the system. A larger buffer than `bytes` is never kept. Does not return buffers that
  /// are kept already.
  static void keep_at_most(int64_t bytes);
  /// Returns whether freed buffers are kept at present.
  static bool keeping();
  /// Returns all kept buffers to the system.
  static void drop() noexcept;

  /// Returns a page-aligned buffer of `bytes`, which the caller has entered in the ledger, or null if the
  /// system has no memory. A reused buffer has its old content.
  static void* take(int64_t bytes);
  /// Frees a buffer and removes it from the ledger. `bytes` and `tag` must be those with which it was
  /// allocated. A buffer that returns to the system leaves the ledger only after it is unmapped; otherwise it
  /// would be counted as memory of other code.
  static void give(void* piece, int64_t bytes, Tag tag) noexcept;
};

}  // namespace plimsoll
