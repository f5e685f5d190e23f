#include "memory/budget_scope.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "memory/ledger.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

using Bytes = Vector<char, Tag::blocks>;

void take(int64_t bytes) {
  const Bytes taken(static_cast<size_t>(bytes));
}

TEST(BudgetScope, LimitsWhatIsTakenWhileItLives) {
  const int64_t cap = Ledger::process().cap();
  {
    const BudgetScope scope("1MiB");
    EXPECT_NO_THROW(take(kMiB));
    EXPECT_THROW(take(kMiB + 1), BudgetExceeded);
  }
  EXPECT_EQ(Ledger::process().cap(), cap);
  EXPECT_NO_THROW(take(kMiB + 1));
}

TEST(BudgetScope, LeavesOutWhatWasHeldBefore) {
  const Bytes before(4 * kMiB);
  const BudgetScope scope("1MiB");
  EXPECT_NO_THROW(take(kMiB));
  EXPECT_THROW(take(kMiB + 1), BudgetExceeded);
}

TEST(BudgetScope, TwoHaveTheSumOfBoth) {
  const BudgetScope one("1MiB");
  {
    const BudgetScope other("2MiB");
    EXPECT_NO_THROW(take(3 * kMiB));
  }
  EXPECT_THROW(take(3 * kMiB), BudgetExceeded);
}

TEST(BudgetScope, NeverLiftsACap) {
  const int64_t cap = Ledger::process().cap();
  Ledger::process().set_cap(Ledger::process().held() + kMiB);
  {
    const BudgetScope scope("1GiB");
    EXPECT_THROW(take(2 * kMiB), BudgetExceeded);
  }
  Ledger::process().set_cap(cap);
}

TEST(BudgetScope, HasTheDefaultOfTheCommandLine) {
  {
    const BudgetScope scope("", kMiB);
    EXPECT_NO_THROW(take(kMiB));
    EXPECT_THROW(take(kMiB + 1), BudgetExceeded);
  }
  {
    const BudgetScope scope("");
    EXPECT_NO_THROW(take(kMiB));
  }
  EXPECT_THROW(BudgetScope("much"), UsageError);
}

}  // namespace
}  // namespace plimsoll
