#pragma once

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "memory/slab.h"

namespace plimsoll {

/// Torch's CPU allocator for a test program. It records what one thread allocates and frees, including pieces
/// of 0 bytes. It stays installed.
class AllocationTape final : public c10::Allocator {
 public:
  /// A piece of `bytes` bytes is allocated, or freed if `bytes` is -1. All allocations within a
  /// WorkspaceScope are one event, with the maximum bytes held at a time.
  struct Event {
    int64_t piece;
    int64_t bytes;
    bool workspace;
  };
  using Events = std::vector<Event>;

  template <typename Work>
  static Events record(const Work& work) {
    c10::SetCPUAllocator(&one(), /*priority=*/2);
    Tape& tape = one().tape_;
    tape = {};
    tape.on = true;
    work();
    tape.on = false;
    EXPECT_EQ(tape.in_workspace, 0) << "what is taken in a workspace is given back in it";
    return std::move(tape.events);
  }

  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    Tape& tape = one().tape_;
    Front front{static_cast<int64_t>(bytes), -1, false};
    if (tape.on) tape.take(front);
    auto* const piece =
        static_cast<char*>(std::aligned_alloc(kFront, (bytes + 2 * kFront - 1) / kFront * kFront));
    std::memcpy(piece, &front, sizeof(front));
    return {piece + kFront, piece + kFront, &release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

 private:
  struct Front {
    int64_t bytes;
    int64_t piece;  // -1 for a piece allocated while nothing was recorded.
    bool workspace;
  };
  static constexpr size_t kFront = 64;

  struct Tape {
    bool on = false;
    Events events;
    int64_t pieces = 0;
    int64_t in_workspace = 0;  // Bytes.
    int64_t scope = -1;

    void take(Front& front) {
      front.workspace = WorkspaceScope::inside();
      front.piece = pieces;
      if (!front.workspace) {
        events.push_back({pieces++, front.bytes, false});
        return;
      }
      in_workspace += front.bytes;
      // Consecutive scopes with nothing between them count as one.
      if (events.empty() || !events.back().workspace) events.push_back({-2, 0, true});
      events.back().bytes = std::max(events.back().bytes, in_workspace);
    }
    void give(const Front& front) {
      if (front.workspace) {
        in_workspace -= front.bytes;
        EXPECT_TRUE(WorkspaceScope::inside());
      } else if (front.piece >= 0) {
        EXPECT_FALSE(WorkspaceScope::inside());
        events.push_back({front.piece, -1, false});
      }
    }
  };

  static AllocationTape& one() {
    static auto* const allocator = new AllocationTape;
    return *allocator;
  }
  static void release(void* data) {
    if (data == nullptr) return;
    char* const piece = static_cast<char*>(data) - kFront;
    Front front{};
    std::memcpy(&front, piece, sizeof(front));
    if (one().tape_.on) one().tape_.give(front);
    std::free(piece);
  }

  Tape tape_;
};

/// One block of several: its terms and its recorded events.
template <size_t kTerms>
struct TapeOf {
  std::array<int64_t, kTerms> terms;
  AllocationTape::Events events;
};

/// Expects all tapes to have the same events, with sizes that are exact affine functions of the terms. The
/// first term is 1. Needs at least as many blocks as terms.
template <size_t kTerms>
void expect_affine(const std::vector<TapeOf<kTerms>>& blocks) {
  using Row = std::vector<int64_t>;
  constexpr int64_t kPrime = (int64_t{1} << 31) - 1;
  const auto times = [](int64_t a, int64_t b) { return a * b % kPrime; };
  const AllocationTape::Events& first = blocks.front().events;
  for (size_t b = 1; b < blocks.size(); ++b) {
    const AllocationTape::Events& other = blocks[b].events;
    for (size_t e = 0; e < std::min(first.size(), other.size()); ++e)
      ASSERT_TRUE(first[e].piece == other[e].piece && first[e].workspace == other[e].workspace &&
                  (first[e].bytes < 0) == (other[e].bytes < 0))
          << "block " << b << ", event " << e << " of " << first.size() << ": piece " << first[e].piece
          << " of " << first[e].bytes << " bytes, but " << other[e].piece << " of " << other[e].bytes;
    ASSERT_EQ(first.size(), other.size()) << "block " << b;
  }
  // Elimination modulo a prime, so without rounding. Some terms may depend on others.
  std::vector<Row> rows;
  for (const TapeOf<kTerms>& block : blocks) {
    Row& row = rows.emplace_back(block.terms.begin(), block.terms.end());
    for (const AllocationTape::Event& event : block.events)
      row.push_back(std::max<int64_t>(event.bytes, 0) % kPrime);
  }
  size_t rank = 0;
  for (size_t term = 0; term < kTerms; ++term) {
    const auto pivot = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(rank), rows.end(),
                                    [&](const Row& row) { return row[term] != 0; });
    if (pivot == rows.end()) continue;
    std::swap(*pivot, rows[rank]);
    const Row& by = rows[rank];
    int64_t inverse = 1;
    for (int64_t base = by[term], power = kPrime - 2; power > 0; power /= 2, base = times(base, base))
      if (power % 2 == 1) inverse = times(inverse, base);
    for (size_t r = rank + 1; r < rows.size(); ++r) {
      const int64_t factor = times(rows[r][term], inverse);
      if (factor == 0) continue;
      for (size_t c = term; c < by.size(); ++c)
        rows[r][c] = (rows[r][c] - times(factor, by[c]) + kPrime) % kPrime;
    }
    ++rank;
  }
  ASSERT_GE(rows.size(), rank + 3) << "too few blocks for what is to be shown";
  for (size_t r = rank; r < rows.size(); ++r)
    for (size_t e = 0; e < first.size(); ++e)
      if (rows[r][kTerms + e] != 0) {
        std::string sizes;
        for (const TapeOf<kTerms>& block : blocks) {
          sizes += "\n" + std::to_string(block.events[e].bytes) + ":";
          for (const int64_t term : block.terms) sizes += " " + std::to_string(term);
        }
        FAIL() << (first[e].workspace ? "workspace" : "piece") << ", event " << e << " of " << first.size()
               << ", is not affine; bytes and terms:" << sizes;
      }
}

}  // namespace plimsoll
