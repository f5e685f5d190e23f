#include "sample/block/feature_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/neighbour_blocks.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using FeatureRowsTest = NeighbourBlocksTest;

// The rows that a source leaves out of blocks, stored as a user would store them.
class HeldRows {
 public:
  HeldRows(const FeatureRows& source, int64_t max, int64_t at_once) {
    std::vector<float> buffer(static_cast<size_t>(at_once * kFeatures));
    const int64_t rows = source.leave_out(max, buffer, [&](int64_t count) {
      table_.insert(table_.end(), buffer.begin(), buffer.begin() + count * kFeatures);
    });
    EXPECT_EQ(std::ssize(table_), rows * kFeatures);
  }
  int64_t rows() const { return std::ssize(table_) / kFeatures; }

  // The block with all its rows, as it would be if none were left out.
  GraphBlock completed(const GraphBlock& block) {
    GraphBlock whole = block;
    EXPECT_EQ(std::ssize(block.row_place), block.nodes());
    EXPECT_EQ(std::ssize(block.x), block.nodes() * kFeatures);
    int64_t coming = 0;
    for (int64_t n = 0; n < block.nodes(); ++n) {
      const int64_t place = block.row_place[static_cast<size_t>(n)];
      if (place < 0) {
        EXPECT_EQ(place, -1 - coming++);
      }
      left_out_ += place >= 0;
      const auto from = place < 0 ? block.x.begin() + (-1 - place) * kFeatures : block.x.begin();
      std::copy_n(from, kFeatures, whole.x.begin() + n * kFeatures);
      if (place >= 0)
        std::copy_n(table_.begin() + place * kFeatures, kFeatures, whole.x.begin() + n * kFeatures);
    }
    return whole;
  }
  // Number of nodes in blocks so far whose rows were left out.
  int64_t left_out() const { return left_out_; }

 private:
  std::vector<float> table_;
  int64_t left_out_ = 0;
};

// Rows are read by single reads, in rounds, in packs, or all are in memory.
TEST_F(FeatureRowsTest, BlocksComeWithoutRowsThatAreElsewhere) {
  write_graph(folder_ / "narrow", graph_, kFeatures, {.type = std::nullopt});
  const NeighbourSource plain = open();
  std::vector<GraphBlock> expected;
  for (int64_t number = 0; number < plain.graphs(); ++number) expected.push_back(block(plain, number));
  for (const char* name : {"graph", "narrow"})
    for (const auto& [bytes, scratch] : std::vector<std::pair<int64_t, bool>>{
             {0, false}, {400'000, false}, {8'000'000, false}, {600'000, true}, {1'200'000, true}}) {
      const NeighbourSource source =
          open(5, name, scratch ? ScratchSpace{folder_.path()} : ScratchSpace{}, 2, true);
      source.shapes(1);
      const auto misses = [&] { return source.row_counters()->misses; };
      int64_t misses_before = std::numeric_limits<int64_t>::max();
      int64_t left_out_before = -1;
      for (const int64_t max : {0, 1, 100, 600}) {
        SCOPED_TRACE(testing::Message() << name << ", cache " << bytes << ", " << max << " rows elsewhere");
        HeldRows elsewhere(*source.feature_rows(), max, 7);
        EXPECT_EQ(elsewhere.rows(), max);
        source.resize_cache(bytes);
        const int64_t before = misses();
        for (int64_t number = 0; number < source.graphs(); ++number)
          expect_equal(elsewhere.completed(block(source, number)), expected[static_cast<size_t>(number)]);
        EXPECT_GT(elsewhere.left_out(), left_out_before);
        left_out_before = elsewhere.left_out();
        if (bytes > 0) continue;
        EXPECT_LT(misses() - before, misses_before);
        misses_before = misses() - before;
      }
      EXPECT_EQ(misses_before, bytes > 0 ? misses_before : 0);
      source.feature_rows()->put_back();
      HeldRows nowhere(*source.feature_rows(), 0, 1);
      source.resize_cache(bytes);
      for (int64_t number = 0; number < source.graphs(); ++number) {
        const GraphBlock whole = block(source, number);
        EXPECT_EQ(whole.x, expected[static_cast<size_t>(number)].x);
        expect_equal(nowhere.completed(whole), expected[static_cast<size_t>(number)]);
      }
      EXPECT_EQ(nowhere.left_out(), 0);
    }
}

// The most used rows are left out first; rows that are not finite stay in blocks, where they are found.
TEST_F(FeatureRowsTest, LeavesOutWhatIsUsedMostAndIsFinite) {
  constexpr float kTooGreat = 1e30F;
  const NeighbourSource before = open(5, "graph", {}, 2, true);
  before.shapes(1);
  const auto left_out = [&](const NeighbourSource& source, int64_t max) {
    const HeldRows elsewhere(*source.feature_rows(), max, 50);
    std::map<int64_t, int64_t> uses;  // Uses by row, of the rows in blocks.
    int64_t of_left_out = 0;
    GraphBlock read;
    for (int64_t number = 0; number < source.graphs(); ++number) {
      source.read(std::span(&number, 1), read);
      for (size_t n = 0; n < read.row_place.size(); ++n) {
        const int64_t place = read.row_place[n];
        if (place >= 0)
          ++of_left_out;
        else
          ++uses[static_cast<int64_t>(read.x[static_cast<size_t>((-1 - place) * kFeatures)])];
      }
    }
    return std::pair(of_left_out, uses);
  };
  const auto [none, uses] = left_out(before, 0);
  EXPECT_EQ(none, 0);
  std::vector<std::pair<int64_t, int64_t>> most_used;
  for (const auto& [row, count] : uses) most_used.emplace_back(count, row);
  std::ranges::sort(most_used, std::greater<>());
  int64_t of_ten = 0;
  for (size_t i = 0; i < 10; ++i) of_ten += most_used[i].first;
  const auto [of_left_out, others_than_ten] = left_out(before, 10);
  EXPECT_GE(of_left_out, of_ten * 9 / 10);  // Uses are counted in some blocks only.
  float greatest = 0;
  for (const auto& [row, count] : uses)
    if (!others_than_ten.contains(row)) greatest = std::max(greatest, 2 * static_cast<float>(row));
  EXPECT_EQ(before.feature_rows()->greatest_left_out(), greatest);

  const int64_t bad = most_used[0].second;
  std::string bytes = read_bytes(folder_ / "graph" / "x.npy");
  const size_t place =
      bytes.size() - static_cast<size_t>((graph_.nodes() - bad) * kFeatures - 5) * sizeof(float);
  std::memcpy(bytes.data() + place, &kTooGreat, sizeof(float));
  write_bytes(folder_ / "graph" / "x.npy", bytes);
  const NeighbourSource source = open(5, "graph", {}, 2, true);
  source.shapes(1);
  const auto [others, coming] = left_out(source, 600);
  EXPECT_EQ(coming, (std::map<int64_t, int64_t>{{bad, uses.at(bad)}}));
  EXPECT_GT(others, 0);
  EXPECT_LT(source.feature_rows()->greatest_left_out(), kTooGreat);
}

}  // namespace
}  // namespace plimsoll
