#include "memory/caching_allocator.h"

#include <sys/mman.h>

#include <map>
#include <mutex>

#include "memory/ledger.h"

namespace plimsoll {
namespace {

constexpr int64_t kPieceStep = 4096;
// A piece that is larger by more is left for others, rather than cut.
constexpr int64_t kMostCut = 4;

int64_t whole_pages(int64_t bytes) {
  return (bytes + kPieceStep - 1) / kPieceStep * kPieceStep;
}

struct Kept {
  std::mutex mutex;
  int64_t keeping = 0;                   // guarded by mutex, as all below
  std::multimap<int64_t, void*> pieces;  // by size

  void drop() noexcept {
    const std::lock_guard lock(mutex);
    for (const auto& [bytes, piece] : pieces) {
      munmap(piece, static_cast<size_t>(bytes));
      Ledger::process().remove_spare(bytes);
    }
    pieces.clear();
  }
};

Kept& kept() {
  static auto& all = *new Kept;  // never destroyed: tensors are freed until the end
  return all;
}

// Of the smallest that is large enough, cut to size.
void* take_kept(int64_t bytes) {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  const auto found = all.pieces.lower_bound(bytes);
  if (found == all.pieces.end() || found->first > kMostCut * bytes) return nullptr;
  const auto [size, piece] = *found;
  all.pieces.erase(found);
  Ledger::process().remove_spare(size);
  if (size > bytes) munmap(static_cast<char*>(piece) + bytes, static_cast<size_t>(size - bytes));
  return piece;
}

}  // namespace

CachingAllocator::Keeping::Keeping() {
  Ledger::process().on_short([] { kept().drop(); });
  const std::lock_guard lock(kept().mutex);
  ++kept().keeping;
}

CachingAllocator::Keeping::~Keeping() {
  {
    const std::lock_guard lock(kept().mutex);
    if (--kept().keeping > 0) return;
  }
  kept().drop();
}

bool CachingAllocator::keeping() {
  const std::lock_guard lock(kept().mutex);
  return kept().keeping > 0;
}

void* CachingAllocator::take(int64_t bytes) {
  const int64_t pages = whole_pages(bytes);
  if (void* const piece = take_kept(pages)) return piece;
  void* const piece =
      mmap(nullptr, static_cast<size_t>(pages), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return piece == MAP_FAILED ? nullptr : piece;
}

void CachingAllocator::give(void* piece, int64_t bytes) noexcept {
  const int64_t pages = whole_pages(bytes);
  Kept& all = kept();
  {
    const std::lock_guard lock(all.mutex);
    if (all.keeping > 0 && Ledger::process().add_spare(pages)) {
      try {
        all.pieces.emplace(pages, piece);
        return;
      } catch (const std::bad_alloc&) {
        Ledger::process().remove_spare(pages);
      }
    }
  }
  munmap(piece, static_cast<size_t>(pages));
}

}  // namespace plimsoll
