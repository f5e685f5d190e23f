#include "ops/allocator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <thread>

namespace plimsoll {
namespace {

class Allocator : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { install_ledger_allocator(); }
  void TearDown() override { ledger_.set_cap(Ledger::kUnlimited); }
  Ledger& ledger_ = Ledger::process();
};

TEST_F(Allocator, EveryTensorStandsInTheLedgerUnderItsTag) {
  const int64_t before = ledger_.held(Tag::gradients);
  {
    const TagScope scope(Tag::gradients);
    const at::Tensor tensor = at::ones({1000, 10});
    EXPECT_GE(ledger_.held(Tag::gradients), before + 40'000);
    EXPECT_LE(ledger_.held(Tag::gradients), before + 40'000 + 256);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 64, 0);
  }
  EXPECT_EQ(ledger_.held(Tag::gradients), before);
}

TEST_F(Allocator, ATensorIsGivenBackUnderItsOwnTagByAnyThread) {
  const int64_t before = ledger_.held(Tag::optimizer);
  at::Tensor tensor;
  {
    const TagScope scope(Tag::optimizer);
    tensor = at::ones({100});
  }
  std::thread([moved = std::move(tensor)]() mutable { moved = at::Tensor(); }).join();
  EXPECT_EQ(ledger_.held(Tag::optimizer), before);
}

TEST_F(Allocator, OverTheCapItThrowsATypedErrorOutOfTheOperation) {
  const at::Tensor small = at::ones({1000});
  const int64_t held = ledger_.held();
  ledger_.set_cap(held + 100'000);
  try {
    at::ones({1'000'000});
    FAIL() << "no error";
  } catch (const BudgetExceeded& error) {
    EXPECT_GE(error.bytes_asked(), 4'000'000);
    EXPECT_LE(error.bytes_free(), 100'000);
  }
  EXPECT_EQ(ledger_.held(), held);
  EXPECT_EQ(at::ones({10}).numel(), 10);
}

TEST_F(Allocator, AnEmptyTensorTakesNothing) {
  const int64_t held = ledger_.held();
  const at::Tensor empty = at::empty({0, 5});
  EXPECT_EQ(ledger_.held(), held);
}

}  // namespace
}  // namespace plimsoll
