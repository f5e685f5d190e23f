#include "memory/vector.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

template <typename T>
using Columns = Vector<T, Tag::columns>;

int64_t held() {
  return Ledger::process().held(Tag::columns);
}

template <typename T>
int64_t bytes_of(const Columns<T>& vector) {
  return static_cast<int64_t>(vector.capacity() * sizeof(T));
}

TEST(Vector, ItsCapacityStandsInTheLedger) {
  {
    Columns<int64_t> vector;
    EXPECT_EQ(held(), 0);
    for (int64_t i = 0; i < 1000; ++i) {
      vector.push_back(i);
      ASSERT_EQ(held(), bytes_of(vector));
    }
    vector.resize(10);
    EXPECT_EQ(held(), bytes_of(vector));
    vector.shrink_to_fit();
    EXPECT_EQ(held(), 80);
    Columns<int64_t> second = vector;
    EXPECT_EQ(held(), 160);
    Columns<int64_t> third = std::move(vector);
    EXPECT_EQ(held(), 160);
  }
  EXPECT_EQ(held(), 0);
}

TEST(Vector, StandsUnderItsOwnTag) {
  const Vector<char, Tag::output> vector(5000);
  EXPECT_EQ(Ledger::process().held(Tag::output), 5000);
  EXPECT_EQ(held(), 0);
}

TEST(Vector, AVectorOfVectorsEntersAllOfThem) {
  {
    Columns<Columns<int32_t>> rows(3, Columns<int32_t>(100));
    EXPECT_EQ(held(), static_cast<int64_t>(3 * sizeof(rows[0]) + 3 * 400));
  }
  EXPECT_EQ(held(), 0);
}

TEST(Vector, ARefusalLeavesItIntact) {
  Columns<int32_t> vector(100);
  std::iota(vector.begin(), vector.end(), 0);
  const Columns<int32_t> copy = vector;
  const int64_t before = held();
  const LedgerCap cap(1000);
  EXPECT_THROW(vector.resize(1000), BudgetExceeded);
  EXPECT_THROW(vector.reserve(1000), BudgetExceeded);
  EXPECT_THROW(vector.insert(vector.end(), 1000, 7), BudgetExceeded);
  EXPECT_THROW(Columns<char>(1001), BudgetExceeded);
  EXPECT_EQ(vector, copy);
  EXPECT_EQ(held(), before);
  vector.reserve(250);
  EXPECT_EQ(vector, copy);
}

TEST(Vector, WhatTheSystemCannotGiveIsARefusalAndLeavesNoEntry) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer ends a program that asks for so much";
#endif
  EXPECT_THROW(Columns<char>(size_t{1} << 60), BudgetExceeded);
  EXPECT_EQ(held(), 0);
}

TEST(Vector, ResizingManyTimesLeavesNothingBehind) {
  {
    Columns<double> vector;
    for (size_t i = 0; i < 2000; ++i) {
      vector.resize(i * 7919 % 5000);
      if (i % 100 == 0) vector.shrink_to_fit();
    }
  }
  EXPECT_EQ(held(), 0);
}

TEST(Vector, ItsDataIsAlignedToCacheLines) {
  for (size_t size = 1; size < 200; ++size) {
    const Columns<char> vector(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(vector.data()) % 64, 0U);
  }
}

TEST(Vector, ValuesThatAreGivenAreStoredAndObjectsAreConstructed) {
  EXPECT_EQ(Columns<int32_t>(3, 7), (Columns<int32_t>{7, 7, 7}));
  EXPECT_EQ(Columns<std::string>(2)[1], "");
}

}  // namespace
}  // namespace plimsoll
