#include "memory/budget_caps.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/units.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

int64_t cap() {
  return Ledger::process().cap();
}

// Sets a limit repeatedly on a separate thread, as ProcessBudget does.
class BudgetCapsTest : public testing::Test {
 protected:
  void TearDown() override {
    caps_.limit(Ledger::kUnlimited);
    EXPECT_EQ(cap(), Ledger::kUnlimited);
  }
  BudgetCaps& caps_ = BudgetCaps::process();
};

TEST_F(BudgetCapsTest, AReservationFollowsALimitThatMoves) {
  caps_.limit(100 * kMiB);
  {
    const BudgetCaps::Reservation reserved(10 * kMiB);
    EXPECT_EQ(cap(), 90 * kMiB);
    caps_.limit(80 * kMiB);
    EXPECT_EQ(cap(), 70 * kMiB);
    const BudgetCaps::Reservation more(75 * kMiB);
    EXPECT_EQ(cap(), -5 * kMiB);  // A refusal says how much is missing.
  }
  EXPECT_EQ(cap(), 80 * kMiB);
}

TEST_F(BudgetCapsTest, AReservationDoesNothingWithoutABudget) {
  const BudgetCaps::Reservation reserved(10 * kMiB);
  EXPECT_EQ(cap(), Ledger::kUnlimited);
}

TEST_F(BudgetCapsTest, ACapOfOthersIsLowerMeanwhile) {
  Ledger::process().set_cap(50 * kMiB);
  {
    const BudgetCaps::Reservation reserved(10 * kMiB);
    EXPECT_EQ(cap(), 40 * kMiB);
  }
  EXPECT_EQ(cap(), 50 * kMiB);
  Ledger::process().set_cap(Ledger::kUnlimited);
}

TEST_F(BudgetCapsTest, ALiftedLimitComesBackAsItIsByThen) {
  caps_.limit(4 * kMiB);
  {
    const BudgetCaps::Lifted lifted;
    EXPECT_GT(cap(), 4 * kMiB);
    caps_.limit(3 * kMiB);
    EXPECT_GT(cap(), 4 * kMiB);
  }
  EXPECT_EQ(cap(), 3 * kMiB);
  std::optional<BudgetCaps::Lifted> lifted(std::in_place);
  caps_.limit(Ledger::kUnlimited);
  lifted.reset();
}

}  // namespace
}  // namespace plimsoll
