#include "ingest/points/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/philox.h"

namespace plimsoll {
namespace {

// Edges from each point to all others, sorted by distance in double, then by index.
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

// Points on a grid, in a plane, all at one place, or anywhere, with some of them far away.
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

// Several places with few or many points each, with zeros of both signs, among random points.
std::vector<float> with_shared_places(int64_t points, uint64_t seed) {
  std::vector<float> pos = made_up(points, seed, 3);
  for (int64_t i = 0; i < points; ++i) {
    const auto draw = Philox(seed)({static_cast<uint32_t>(i), 1, 0, 0});
    const uint32_t choice = draw[0] % 16;
    if (choice > 12) continue;
    const auto at = static_cast<float>(choice < 6 ? 0 : choice < 9 ? 1 : choice) * 0.1F;
    for (size_t axis = 0; axis < 3; ++axis)
      pos[3 * static_cast<size_t>(i) + axis] = draw[1] % 2 == 0 && at == 0 ? -0.0F : at;
  }
  return pos;
}

TEST(NearestNeighbours, OfSharedPlacesAreThoseOfAllPairs) {
  Vector<int32_t, Tag::ingest> edges;
  for (const int64_t points : {2, 5, 30, 400, 900})
    for (const int64_t k : {1, 3, 8, 20, 60, 150}) {
      const auto pos = with_shared_places(points, static_cast<uint64_t>(points + k));
      nearest_neighbours(pos, k, edges);
      EXPECT_EQ(std::vector<int32_t>(edges.begin(), edges.end()), all_pairs(pos, k))
          << points << " points, k " << k;
    }
}

// A quadratic search of this many points would need minutes.
TEST(NearestNeighbours, ManyPointsOfOnePlaceTakeNoLongerThanOthers) {
  constexpr size_t kPoints = 400'000;
  std::vector<float> pos(3 * kPoints, 0.0F);
  pos[0] = 1;
  Vector<int32_t, Tag::ingest> edges;
  nearest_neighbours(pos, 2, edges);
  EXPECT_EQ(std::vector<int32_t>(edges.begin(), edges.begin() + 12),
            (std::vector<int32_t>{1, 0, 2, 0, 2, 1, 3, 1, 1, 2, 3, 2}));
  EXPECT_EQ(edges[edges.size() - 4], 1);
  EXPECT_EQ(edges[edges.size() - 2], 2);
}

TEST(NearestNeighbours, ASignalEndsTheSearch) {
  const auto pos = made_up(50, 1, 3);
  Vector<int32_t, Tag::ingest> edges;
  interrupt_requested = true;
  EXPECT_THROW(nearest_neighbours(pos, 4, edges), Interrupted);
  interrupt_requested = false;
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
