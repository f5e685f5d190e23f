#include "ingest/points/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/philox.h"

namespace plimsoll {
namespace {

// Every other point by distance in double, then by index.
std::vector<int32_t> all_pairs(const std::vector<float>& pos, int64_t k) {
  const auto points = static_cast<int32_t>(pos.size() / 3);
  std::vector<int32_t> edges;
  for (int32_t to = 0; to < points; ++to) {
    std::vector<std::pair<double, int32_t>> others;
    for (int32_t from = 0; from < points; ++from) {
      if (from == to) continue;
      double square = 0;
      for (int32_t axis = 0; axis < 3; ++axis) {
        const double difference = double{pos[static_cast<size_t>(3 * to + axis)]} -
                                  double{pos[static_cast<size_t>(3 * from + axis)]};
        square += difference * difference;
      }
      others.emplace_back(square, from);
    }
    std::ranges::sort(others);
    for (size_t i = 0; i < std::min(others.size(), static_cast<size_t>(k)); ++i)
      edges.insert(edges.end(), {others[i].second, to});
  }
  return edges;
}

// Points on a grid, in a plane, all at one place, or anywhere; some of them far away.
std::vector<float> made_up(int64_t points, uint64_t seed, int kind) {
  std::vector<float> pos;
  for (int64_t i = 0; i < points; ++i) {
    const auto draw = Philox(seed)({static_cast<uint32_t>(i), 0, 0, 0});
    const float far = i % 17 == 5 ? 1e6F : 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      const auto bits = draw[axis];
      const std::array<float, 4> at = {static_cast<float>(bits % 5),
                                       axis == 2 ? 0 : static_cast<float>(bits % 9), 7,
                                       far + static_cast<float>(uniform(bits))};
      pos.push_back(at[static_cast<size_t>(kind)]);
    }
  }
  return pos;
}

TEST(NearestNeighbours, AreThoseOfAllPairsWithTiesByIndex) {
  Vector<int32_t, Tag::ingest> edges;
  for (int kind = 0; kind < 4; ++kind)
    for (const int64_t points : {1, 2, 3, 9, 40, 300})
      for (const int64_t k : {1, 4, 8, 30}) {
        const auto pos = made_up(points, static_cast<uint64_t>(points + k), kind);
        nearest_neighbours(pos, k, edges);
        EXPECT_EQ(std::vector<int32_t>(edges.begin(), edges.end()), all_pairs(pos, k))
            << "kind " << kind << ", " << points << " points, k " << k;
      }
}

TEST(NearestNeighbours, StandInTheLedger) {
  const auto pos = made_up(5000, 1, 3);
  Vector<int32_t, Tag::ingest> edges;
  Ledger::process().begin_recent();
  const int64_t before = Ledger::process().held();
  nearest_neighbours(pos, 4, edges);
  EXPECT_GE(Ledger::process().recent_peak() - before, 5000 * 84 + 5000 * 4 * 8);
  EXPECT_EQ(Ledger::process().held() - before, 5000 * 4 * 8);
}

}  // namespace
}  // namespace plimsoll
