#include "memory/slab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/workers.h"
#include "memory/meter.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

constexpr int64_t kMiB = 1 << 20;

TEST(Slab, StandsInTheLedgerAsAWhole) {
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held(Tag::activations);
  {
    Slab slab;
    EXPECT_EQ(ledger.held(Tag::activations), before);
    slab.resize(3 * kMiB);
    EXPECT_EQ(ledger.held(Tag::activations), before + 3 * kMiB);
    const SlabRange range = slab.take(kMiB);
    const RangeScope scope(range);
    const SlabAllocation piece = Slab::take_piece(1000);
    EXPECT_EQ(ledger.held(Tag::activations), before + 3 * kMiB);
    Slab::give_piece(piece);
  }
  EXPECT_EQ(ledger.held(Tag::activations), before);
}

TEST(Slab, GivesItsPagesBackWhenItShrinks) {
  Slab slab;
  slab.resize(64 * kMiB);
  {
    const SlabRange range = slab.take(64 * kMiB);
    const RangeScope scope(range);
    const SlabAllocation piece = Slab::take_piece(60 * kMiB);
    std::memset(piece.data, 1, 60 * kMiB);
    Slab::give_piece(piece);
  }
  const int64_t full = process_memory().anonymous;
  slab.resize(kMiB);
  EXPECT_LT(process_memory().anonymous, full - 50 * kMiB);
}

TEST(Slab, ASizeOverTheCapChangesNothing) {
  Slab slab;
  slab.resize(kMiB);
  Ledger& ledger = Ledger::process();
  const LedgerCap cap(kMiB);
  const int64_t held = ledger.held();
  EXPECT_THROW(slab.resize(3 * kMiB), BudgetExceeded);
  EXPECT_EQ(slab.bytes(), kMiB);
  EXPECT_EQ(ledger.held(), held);
}

TEST(Slab, PiecesComeFromTheThreadsRangeAlone) {
  Slab slab;
  slab.resize(kMiB);
  EXPECT_EQ(Slab::take_piece(64).data, nullptr);
  const SlabRange range = slab.take(1024 + kTensorHeader);
  const RangeScope scope(range);
  const SlabAllocation piece = Slab::take_piece(1000);
  EXPECT_NE(piece.data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(piece.data) % 64, 0U);
  std::jthread([] { EXPECT_EQ(Slab::take_piece(64).data, nullptr); });
  EXPECT_EQ(Slab::take_piece(64).data, nullptr) << "the range is full";
  EXPECT_EQ(slab.overflows(), 1);
  Slab::give_piece(piece);
  EXPECT_EQ(range.high(), 1024 + kTensorHeader);
}

TEST(Slab, RangesAreARingInTheirOrder) {
  Slab slab;
  slab.resize(kMiB);
  const int64_t third = kMiB / 3 / 64 * 64;
  const auto first_byte = [](const SlabRange& range) {
    const RangeScope scope(range);
    const SlabAllocation piece = Slab::take_piece(64);
    Slab::give_piece(piece);
    return static_cast<char*>(piece.data);
  };
  SlabRange a = slab.take(third);
  SlabRange b = slab.take(third);
  const SlabRange c = slab.take(third);
  char* const start = first_byte(a);
  EXPECT_EQ(first_byte(b), start + third);
  EXPECT_EQ(first_byte(c), start + 2 * third);
  a = SlabRange();
  const SlabRange d = slab.take(third);
  EXPECT_EQ(first_byte(d), start);
  b = SlabRange();
  const SlabRange e = slab.take(third / 128 * 64);
  const SlabRange f = slab.take(third / 128 * 64);
  EXPECT_EQ(first_byte(e), start + third);
}

TEST(Slab, TakingWaitsForOlderRanges) {
  Slab slab;
  slab.resize(kMiB);
  SlabRange old = slab.take(kMiB);
  std::atomic<bool> ended = false;
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ended = true;
    old = SlabRange();
  });
  const SlabRange mine = slab.take(kMiB);
  EXPECT_TRUE(ended);
}

TEST(Slab, ARangeLargerThanTheSlabIsRefusedAtOnce) {
  Slab slab;
  slab.resize(kMiB);
  EXPECT_THROW(slab.take(2 * kMiB), BudgetExceeded);
}

TEST(Slab, APieceThatOutlivesItsBlockStaysValidAndIsAnErrorNotADeadlock) {
  Slab slab;
  slab.resize(kMiB);
  SlabAllocation piece;
  {
    const SlabRange range = slab.take(kMiB);
    const RangeScope scope(range);
    piece = Slab::take_piece(1000);
  }
  std::memset(piece.data, 7, 1000);
  EXPECT_THROW(slab.take(kMiB), Failure);
  EXPECT_EQ(static_cast<char*>(piece.data)[999], 7);
  Slab::give_piece(piece);
  EXPECT_NO_THROW(slab.take(kMiB));
}

TEST(Slab, APieceMayOutliveTheSlabWhoseMemoryGoesBackWithIt) {
  const int64_t before = Ledger::process().held(Tag::activations);
  SlabAllocation piece;
  {
    Slab slab;
    slab.resize(kMiB);
    const SlabRange range = slab.take(kMiB);
    const RangeScope scope(range);
    piece = Slab::take_piece(1000);
  }
  std::memset(piece.data, 7, 1000);
  EXPECT_EQ(Ledger::process().held(Tag::activations), before + kMiB);
  Slab::give_piece(piece);
  EXPECT_EQ(Ledger::process().held(Tag::activations), before);
}

TEST(Slab, ARangeMayOutliveTheSlab) {
  const int64_t before = Ledger::process().held(Tag::activations);
  for (const bool has_piece : {false, true}) {
    SlabAllocation piece;
    SlabRange range;
    {
      Slab slab;
      slab.resize(kMiB);
      range = slab.take(kMiB);
      const RangeScope scope(range);
      if (has_piece) piece = Slab::take_piece(1000);
    }
    range = SlabRange();
    if (has_piece) Slab::give_piece(piece);
    EXPECT_EQ(Ledger::process().held(Tag::activations), before);
  }
}

// Tensors on another thread outlive the slab, in every order of destruction: ranges are empty, become empty
// while the slab is destroyed, or still hold tensors. Also run under the thread and address sanitizers.
TEST(Slab, MayEndWhilePiecesAreGivenBackOnOtherThreads) {
  const int64_t before = Ledger::process().held(Tag::activations);
  constexpr int64_t kRanges = 4;
  for (int round = 0; round < 100; ++round) {
    auto slab = std::make_unique<Slab>();
    slab->resize(kMiB);
    std::vector<SlabAllocation> pieces;
    for (int64_t i = 0; i < kRanges; ++i) {
      const SlabRange range = slab->take(kMiB / kRanges);
      const RangeScope scope(range);
      pieces.push_back(Slab::take_piece(1000));
    }
    std::rotate(pieces.begin(), pieces.begin() + round % kRanges, pieces.end());
    {
      std::atomic<int> waiting = 3;
      const auto together = [&] {
        --waiting;
        while (waiting > 0) std::this_thread::yield();
      };
      const std::jthread first([&] {
        together();
        Slab::give_piece(pieces[0]);
        Slab::give_piece(pieces[1]);
      });
      const std::jthread second([&] {
        together();
        Slab::give_piece(pieces[2]);
      });
      together();
      slab.reset();
    }
    Slab::give_piece(pieces[3]);
  }
  EXPECT_EQ(Ledger::process().held(Tag::activations), before);
}

TEST(Slab, AWholeSlabGrowsAsFarAsTheLedgerAllows) {
  Slab slab;
  Ledger& ledger = Ledger::process();
  const LedgerCap cap(4 * kMiB);
  const SlabRange range = slab.take_all();
  const RangeScope scope(range);
  std::vector<SlabAllocation> pieces;
  EXPECT_THROW(
      for (;;) {
        pieces.push_back(Slab::take_piece(kMiB / 2 - kTensorHeader));
        std::memset(pieces.back().data, 1, kMiB / 2);
      },
      BudgetExceeded);
  EXPECT_EQ(pieces.size(), 8U);
  EXPECT_EQ(slab.bytes(), 4 * kMiB);
  EXPECT_EQ(range.high(), 4 * kMiB);
  EXPECT_LE(ledger.held(), ledger.cap());
  for (const SlabAllocation& piece : pieces) Slab::give_piece(piece);
}

// Runs blocks of many sizes on four threads. Each finds its memory as it left it.
TEST(Slab, BlocksOnManyThreadsNeverShareMemory) {
  Slab slab;
  slab.resize(kMiB);
  std::vector<SlabRange> taken(4);
  Workers workers(4);
  int64_t wrong = 0;
  workers.run_stream(
      [&](int64_t item, int worker) {
        if (item == 2000) return false;
        taken[static_cast<size_t>(worker)] = slab.take(10'300 + item * 7919 % 300'000);
        return true;
      },
      [&](int64_t item, Turn& turn) {
        const SlabRange range = std::move(taken[static_cast<size_t>(turn.worker())]);
        const RangeScope scope(range);
        std::vector<SlabAllocation> pieces;
        for (int i = 0; i < 10; ++i) {
          pieces.push_back(Slab::take_piece(900));
          std::memset(pieces.back().data, static_cast<int>(item % 251), 900);
        }
        turn.wait();
        for (const SlabAllocation& piece : pieces) {
          const auto* const bytes = static_cast<const unsigned char*>(piece.data);
          for (int i = 0; i < 900; ++i) wrong += bytes[i] != item % 251;
          Slab::give_piece(piece);
        }
      });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(slab.overflows(), 0);
}

}  // namespace
}  // namespace plimsoll
