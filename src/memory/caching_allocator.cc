#include "memory/caching_allocator.h"

#include <pthread.h>
#include <sys/mman.h>

#include <map>

#include "base/mutex.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

constexpr int64_t kPieceStep = 4096;
// A kept buffer is cut to the requested size only if it is at most this many times as large. Otherwise it is
// left for larger requests.
constexpr int64_t kMaxCut = 4;

int64_t whole_pages(int64_t bytes) {
  return (bytes + kPieceStep - 1) / kPieceStep * kPieceStep;
}

struct Kept {
  Mutex mutex;
  int64_t keeping PLIMSOLL_GUARDED_BY(mutex) = 0;
  int64_t max PLIMSOLL_GUARDED_BY(mutex) = 0;    // Maximum of `bytes` while `keeping` is 0.
  int64_t bytes PLIMSOLL_GUARDED_BY(mutex) = 0;  // Total size of the kept buffers.
  std::multimap<int64_t, void*> pieces PLIMSOLL_GUARDED_BY(mutex);  // Kept buffers by size.

  void drop() noexcept {
    const MutexLock lock(mutex);
    drop_locked();
  }
  void drop_locked() noexcept PLIMSOLL_REQUIRES(mutex) {
    for (const auto& [size, piece] : pieces) {
      munmap(piece, static_cast<size_t>(size));
      Ledger::process().remove_spare(size);
    }
    pieces.clear();
    bytes = 0;
  }
  // Returns whether one more buffer may be kept. Drops all others if they use too much memory.
  bool make_room(int64_t size) noexcept PLIMSOLL_REQUIRES(mutex) {
    if (keeping > 0) return true;
    if (size > max) return false;
    if (bytes > max - size) drop_locked();
    return true;
  }
  // Keeps a buffer. Returns false, with nothing changed, if the ledger or the list has no space for it.
  bool keep(void* piece, int64_t size) noexcept PLIMSOLL_REQUIRES(mutex) {
    if (!Ledger::process().add_spare(size)) return false;
    try {
      pieces.emplace(size, piece);
    } catch (const std::bad_alloc&) {
      Ledger::process().remove_spare(size);
      return false;
    }
    bytes += size;
    return true;
  }
};

Kept& kept();

Kept* make_kept() {
  // Only the forking thread exists in a child of fork(), so no other thread may hold the lock during the
  // fork.
  pthread_atfork([]() PLIMSOLL_NOT_ANALYSED { kept().mutex.lock(); },
                 []() PLIMSOLL_NOT_ANALYSED { kept().mutex.unlock(); },
                 []() PLIMSOLL_NOT_ANALYSED { kept().mutex.unlock(); });
  return new Kept;
}

Kept& kept() {
  static Kept& all = *make_kept();  // Never destroyed: tensors are freed until the process ends.
  return all;
}

// Takes the smallest kept buffer that is large enough and cuts it to size. Returns null if there is none.
void* take_kept(int64_t bytes) {
  Kept& all = kept();
  const MutexLock lock(all.mutex);
  const auto found = all.pieces.lower_bound(bytes);
  if (found == all.pieces.end() || found->first > kMaxCut * bytes) return nullptr;
  const auto [size, piece] = *found;
  all.pieces.erase(found);
  all.bytes -= size;
  Ledger::process().remove_spare(size);
  if (size > bytes) munmap(static_cast<char*>(piece) + bytes, static_cast<size_t>(size - bytes));
  return piece;
}

}  // namespace

CachingAllocator::Keeping::Keeping() {
  Ledger::process().on_short([] { kept().drop(); });
  const MutexLock lock(kept().mutex);
  if (kept().keeping++ == 0) kept().drop_locked();
}

CachingAllocator::Keeping::~Keeping() {
  {
    const MutexLock lock(kept().mutex);
    if (--kept().keeping > 0) return;
  }
  kept().drop();
}

void CachingAllocator::keep_at_most(int64_t bytes) {
  Ledger::process().on_short([] { kept().drop(); });
  const MutexLock lock(kept().mutex);
  kept().max = bytes;
}

bool CachingAllocator::keeping() {
  const MutexLock lock(kept().mutex);
  return kept().keeping > 0 || kept().max > 0;
}

void CachingAllocator::drop() noexcept {
  kept().drop();
}

void* CachingAllocator::take(int64_t bytes) {
  const int64_t pages = whole_pages(bytes);
  if (void* const piece = take_kept(pages)) return piece;
  void* const piece =
      mmap(nullptr, static_cast<size_t>(pages), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return piece == MAP_FAILED ? nullptr : piece;
}

void CachingAllocator::give(void* piece, int64_t bytes, Tag tag) noexcept {
  const int64_t pages = whole_pages(bytes);
  Kept& all = kept();
  Ledger& ledger = Ledger::process();
  {
    const MutexLock lock(all.mutex);
    if (all.make_room(pages) && pages - bytes <= ledger.cap() - ledger.held() - ledger.spare()) {
      ledger.give(tag, bytes);
      if (!all.keep(piece, pages)) munmap(piece, static_cast<size_t>(pages));
      return;
    }
  }
  munmap(piece, static_cast<size_t>(pages));
  ledger.give(tag, bytes);
}

}  // namespace plimsoll
