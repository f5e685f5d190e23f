#include "can/checksum/residue_system.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace plimsoll {
namespace {

using Kind = ResidueSystem::Kind;

struct Equation {
  ResidueSystem::Row row{};
  uint8_t result = 0;
};

// The oracle: all values of three unknowns modulo 2^bits for which the equations hold.
std::vector<std::array<int, 3>> solutions(const std::vector<Equation>& equations, int bits) {
  const int size = 1 << bits;
  std::vector<std::array<int, 3>> all;
  for (int x = 0; x < size; ++x)
    for (int y = 0; y < size; ++y)
      for (int z = 0; z < size; ++z) {
        bool hold = true;
        for (const Equation& equation : equations)
          hold =
              hold &&
              (equation.row[0] * x + equation.row[1] * y + equation.row[2] * z - equation.result) % size == 0;
        if (hold) all.push_back({x, y, z});
      }
  return all;
}

TEST(ResidueSystem, KnowsWhatFollowsFromAllEquations) {
  std::mt19937 random(35);
  for (int round = 0; round < 3000; ++round) {
    const int bits = 1 + round % 3;
    ResidueSystem system(bits);
    std::vector<Equation> equations;
    for (int k = 0; k < 5; ++k) {
      Equation next;
      for (int u = 0; u < 3; ++u) next.row[static_cast<size_t>(u)] = static_cast<uint8_t>(random());
      next.result = static_cast<uint8_t>(random());
      const auto before = solutions(equations, bits);
      equations.push_back(next);
      const auto after = solutions(equations, bits);
      const Kind kind = system.add(next.row, next.result);
      EXPECT_EQ(kind == Kind::contradicts, after.empty());
      if (after.empty()) break;
      EXPECT_EQ(kind == Kind::follows, after.size() == before.size());
      for (int u = 0; u < 3; ++u) {
        std::set<int> values;
        for (const auto& one : after) values.insert(one[static_cast<size_t>(u)]);
        const auto coefficient = system.coefficient(u);
        ASSERT_EQ(coefficient.has_value(), values.size() == 1) << "round " << round;
        if (coefficient) {
          EXPECT_EQ(*coefficient, *values.begin());
        }
      }
    }
  }
}

TEST(ResidueSystem, SolvesForCoefficientsOfASum) {
  std::mt19937 random(1);
  ResidueSystem system(8);
  const std::array<uint8_t, 4> truth = {1, 255, 16, 0};
  for (int k = 0; k < 40; ++k) {
    ResidueSystem::Row row{};
    uint8_t sum = 0;
    for (size_t u = 0; u < truth.size(); ++u) {
      row[u] = static_cast<uint8_t>(random());
      sum = static_cast<uint8_t>(sum + row[u] * truth[u]);
    }
    EXPECT_NE(system.add(row, sum), Kind::contradicts);
  }
  for (size_t u = 0; u < truth.size(); ++u) EXPECT_EQ(system.coefficient(static_cast<int>(u)), truth[u]);
  EXPECT_EQ(system.coefficient(4), std::nullopt);
  EXPECT_EQ(system.add({1}, 2), Kind::contradicts);
  EXPECT_FALSE(system.solvable());
  EXPECT_EQ(system.add({1}, 1), Kind::contradicts);
}

}  // namespace
}  // namespace plimsoll
