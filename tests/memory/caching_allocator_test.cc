#include "memory/caching_allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/units.h"
#include "memory/ledger.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

// Allocates and frees a buffer as the allocator of tensors does.
class Piece {
 public:
  explicit Piece(int64_t bytes) : bytes_(bytes) {
    Ledger::process().take(Tag::other, bytes);
    data_ = static_cast<char*>(CachingAllocator::take(bytes));
    std::memset(data_, 1, static_cast<size_t>(bytes));
  }
  ~Piece() { CachingAllocator::give(data_, bytes_, Tag::other); }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  const char* data() const { return data_; }

 private:
  int64_t bytes_;
  char* data_;
};

int64_t spare() {
  return Ledger::process().spare();
}

TEST(CachingAllocator, AreUsedAgainCutToSize) {
  const CachingAllocator::Keeping keeping;
  const int64_t held = Ledger::process().held();
  const char* first = nullptr;
  {
    const Piece piece(kMiB);
    first = piece.data();
  }
  EXPECT_EQ(spare(), kMiB);
  EXPECT_EQ(Ledger::process().held(), held);
  {
    const Piece smaller(kMiB / 2 + 1);
    EXPECT_EQ(smaller.data(), first);
    EXPECT_EQ(spare(), 0);
  }
  EXPECT_EQ(spare(), kMiB / 2 + 4096);
  const Piece tiny(kMiB / 16);  // The kept buffer is not worth cutting.
  EXPECT_EQ(spare(), kMiB / 2 + 4096);
}

TEST(CachingAllocator, AreNotKeptWithoutABudget) {
  { const Piece piece(kMiB); }
  EXPECT_EQ(spare(), 0);
  {
    const CachingAllocator::Keeping keeping;
    { const Piece piece(kMiB); }
    EXPECT_EQ(spare(), kMiB);
  }
  EXPECT_EQ(spare(), 0);
}

TEST(CachingAllocator, AreKeptUpToALimitWithoutABudget) {
  CachingAllocator::keep_at_most(3 * kMiB);
  { const Piece piece(2 * kMiB); }
  EXPECT_EQ(spare(), 2 * kMiB);
  {
    const Piece piece(kMiB);
    EXPECT_EQ(spare(), 0);
  }
  { const Piece piece(5 * kMiB / 2); }  // Does not fit next to the kept buffers.
  EXPECT_EQ(spare(), 5 * kMiB / 2) << "the other went";
  { const Piece piece(4 * kMiB); }
  EXPECT_EQ(spare(), 5 * kMiB / 2) << "what is too large drives nothing out";
  {
    const CachingAllocator::Keeping keeping;
    EXPECT_EQ(spare(), 0) << "a budget starts without them";
    { const Piece piece(8 * kMiB); }
    EXPECT_EQ(spare(), 8 * kMiB);
  }
  EXPECT_EQ(spare(), 0);
  CachingAllocator::keep_at_most(0);
}

// A loader's workers are forked like this while other threads make tensors.
TEST(CachingAllocator, TheChildOfAForkTakesPieces) {
  CachingAllocator::keep_at_most(kMiB);
  std::atomic<bool> over = false;
  std::jthread other([&] {
    while (!over) const Piece piece(kMiB / 2);
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      { const Piece piece(kMiB / 2); }
      _exit(0);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  over = true;
  other.join();
  CachingAllocator::keep_at_most(0);
}

TEST(CachingAllocator, GiveWayToWhoeverNeedsTheRoom) {
  const CachingAllocator::Keeping keeping;
  const LedgerCap cap(Ledger::process().held() + 3 * kMiB);
  { const Piece piece(2 * kMiB); }
  EXPECT_EQ(spare(), 2 * kMiB);
  Ledger::process().take(Tag::columns, kMiB);
  EXPECT_EQ(spare(), 2 * kMiB) << "there is room for both";
  Ledger::process().take(Tag::columns, kMiB);
  EXPECT_EQ(spare(), 0);
  Ledger::process().give(Tag::columns, 2 * kMiB);
}

TEST(CachingAllocator, GiveWayWhenTheCapFalls) {
  const CachingAllocator::Keeping keeping;
  const LedgerCap cap(Ledger::process().held() + 3 * kMiB);
  { const Piece piece(2 * kMiB); }
  const LedgerCap lower(Ledger::process().held() + kMiB);
  EXPECT_EQ(spare(), 0);
  { const Piece piece(kMiB); }
  EXPECT_EQ(spare(), kMiB);
}

TEST(CachingAllocator, NeverPassTheCapTogetherWithWhatIsHeld) {
  const CachingAllocator::Keeping keeping;
  const int64_t limit = Ledger::process().held() + 8 * kMiB;
  const LedgerCap cap(limit);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        const Piece piece((1 + (i * 7 + t) % 5) * kMiB / 4);
        EXPECT_EQ(piece.data()[0], 1);
      }
    });
  threads.clear();
  EXPECT_LE(Ledger::process().held() + spare(), limit);
}

}  // namespace
}  // namespace plimsoll
