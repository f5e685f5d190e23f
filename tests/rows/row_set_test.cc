#include "rows/row_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "memory/ledger.h"

namespace plimsoll {
namespace {

TEST(RowSetTest, KnowsWhereEachRowStands) {
  std::mt19937 random(1);
  for (const int64_t rows : {int64_t{1}, int64_t{64}, int64_t{65}, int64_t{1000}}) {
    RowSet found(rows);
    std::set<int64_t> expected;
    for (int i = 0; i < 300; ++i) {
      const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(rows));
      if (random() % 3 == 0) {
        found.remove(row);
        expected.erase(row);
      } else {
        found.add(row);
        expected.insert(row);
      }
    }
    EXPECT_EQ(found.number(), std::ssize(expected));
    int64_t index = 0;
    for (int64_t row = 0; row < rows; ++row) {
      EXPECT_EQ(found.has(row), expected.contains(row));
      EXPECT_EQ(found.index(row), expected.contains(row) ? index++ : RowSet::kNone);
      const auto next = expected.lower_bound(row);
      EXPECT_EQ(found.next(row), next == expected.end() ? RowSet::kNone : *next);
    }
    EXPECT_EQ(found.next(rows), RowSet::kNone);
    found.clear();
    EXPECT_EQ(found.number(), 0);
  }
}

TEST(RowSetTest, TakesAQuarterOfAByteARow) {
  const int64_t before = Ledger::process().held(Tag::cache);
  const RowSet set(64'000);
  EXPECT_EQ(Ledger::process().held(Tag::cache) - before, RowSet::bytes_for(64'000));
  EXPECT_EQ(RowSet::bytes_for(64'000), 16'000);
}

}  // namespace
}  // namespace plimsoll
