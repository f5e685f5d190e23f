#include "rows/row_table.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

TEST(RowTableTest, DoesWhatAMapDoes) {
  std::mt19937 random(1);
  for (const int64_t range : {3, 40, 5000}) {
    RowTable<int32_t> table(range == 40 ? 40 : 0);
    std::unordered_map<int64_t, int32_t> map;
    for (int step = 0; step < 30'000; ++step) {
      const int64_t row = static_cast<int64_t>(random() % static_cast<uint64_t>(range))
                          << (range == 3 ? 40 : 0);
      if (random() % 2 == 0) {
        table.insert_or_assign(row, step);
        map[row] = step;
      } else {
        table.erase(row);
        map.erase(row);
      }
      ASSERT_EQ(table.size(), static_cast<int64_t>(map.size()));
      const int64_t asked = static_cast<int64_t>(random() % static_cast<uint64_t>(range))
                            << (range == 3 ? 40 : 0);
      const int32_t* const found = table.find(asked);
      ASSERT_EQ(found != nullptr, map.contains(asked));
      if (found != nullptr) {
        ASSERT_EQ(*found, map[asked]);
      }
    }
  }
}

TEST(RowTableTest, AllocatesNothingUpToWhatItWasMadeFor) {
  for (const int64_t rows : {1, 2, 3, 100, 1001}) {
    const int64_t before = Ledger::process().held(Tag::cache);
    RowTable<int32_t> table(rows);
    EXPECT_EQ(Ledger::process().held(Tag::cache) - before, RowTable<int32_t>::bytes_for(rows));
    for (int64_t row = 0; row < rows; ++row) table.insert_or_assign(row, 0);
    EXPECT_EQ(Ledger::process().held(Tag::cache) - before, RowTable<int32_t>::bytes_for(rows));
  }
}

TEST(RowTableTest, IsUnchangedWhenItIsRefusedMemory) {
  RowTable<int32_t> table(0);
  int64_t rows = 0;
  {
    const LedgerCap cap(1 << 12);
    EXPECT_THROW(for (;; ++rows) table.insert_or_assign(rows, 0), BudgetExceeded);
  }
  EXPECT_EQ(table.size(), rows);
  EXPECT_EQ(table.find(rows), nullptr);
}

}  // namespace
}  // namespace plimsoll
