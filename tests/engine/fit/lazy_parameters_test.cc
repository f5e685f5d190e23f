#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/blocks/slices.h"
#include "engine/fit/optimizer.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

// Two steps, of which the second reaches only the first number.
std::vector<float> moved(OptimizerKind kind, std::vector<bool> lazy) {
  const at::Tensor weights = at::full({2}, 1.0);
  const auto optimizer = make_optimizer(
      {weights}, {.kind = kind, .learning_rate = 0.1, .weight_decay = 0.1, .momentum = 0.9}, lazy);
  const at::Tensor gradient = at::full({2}, 1.0);
  optimizer->step({gradient});
  const float once = weights.const_data_ptr<float>()[1];
  gradient.data_ptr<float>()[1] = 0;
  optimizer->step({gradient});
  return {weights.const_data_ptr<float>()[0], weights.const_data_ptr<float>()[1], once};
}

TEST(LazyParameters, ANumberWithoutAGradientStays) {
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::sgd}) {
    const std::vector<float> eager = moved(kind, {}), lazy = moved(kind, {true});
    EXPECT_EQ(lazy[0], eager[0]);
    EXPECT_EQ(lazy[1], lazy[2]);
    EXPECT_NE(eager[1], eager[2]);
  }
}

TEST(LazyParameters, RanksKnowThePiecesThatAreLazy) {
  ParameterList parameters(1);
  parameters.add("rows", {6}, Init::zeros());
  parameters.add("bias", {2}, Init::zeros());
  parameters.make_lazy("rows");
  EXPECT_THAT(laziness_of_rank(parameters, 0, 1), testing::ElementsAre(true, false));
  EXPECT_THAT(laziness_of_rank(parameters, 0, 2), testing::ElementsAre(true));
  EXPECT_THAT(laziness_of_rank(parameters, 1, 2), testing::ElementsAre(true, false));
}

// Steps with marks of rows that have a gradient, or without; the norm is added to the result.
std::vector<float> stepped(OptimizerKind kind, bool marked) {
  constexpr int64_t kRows = 40'000, kWidth = 5;  // Several chunks of the norm, which divide rows.
  const at::Tensor table = at::full({kRows, kWidth}, 1.0);
  const auto optimizer =
      make_optimizer({table}, {.kind = kind, .learning_rate = 0.1, .momentum = 0.9}, {true});
  std::vector<float> found;
  for (int64_t step = 0; step < 3; ++step) {
    std::vector<RowMarks> rows;
    rows.emplace_back(kRows);
    const at::Tensor gradient = at::zeros({kRows, kWidth});
    for (int64_t row = step; row < kRows; row += 1 + row % 977) {
      rows[0].add(row);
      for (int64_t i = 0; i < kWidth; ++i)
        gradient.data_ptr<float>()[row * kWidth + i] = 0.01F * static_cast<float>((row + i * step) % 17);
    }
    const std::span<const RowMarks> marks =
        marked ? std::span<const RowMarks>(rows) : std::span<const RowMarks>();
    found.push_back(static_cast<float>(clip_gradients({gradient}, 1.0, marks)));
    optimizer->step({gradient}, marks);
  }
  found.insert(found.end(), table.const_data_ptr<float>(), table.const_data_ptr<float>() + table.numel());
  return found;
}

TEST(LazyParameters, MarkedRowsGiveTheBitsOfTheWholeTable) {
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::sgd}) {
    const std::vector<float> whole = stepped(kind, false);
    EXPECT_GT(whole[0], 1);  // It was clipped.
    EXPECT_EQ(stepped(kind, true), whole);
  }
}

// A gradient of some rows of a table, in slots that are not in the order of the rows.
TEST(LazyParameters, RowsInSlotsHaveTheNormOfTheWholeTable) {
  constexpr int64_t kRows = 40'000, kWidth = 5, kSlots = 997;
  std::vector<uint32_t> row_of_slot(kSlots);
  for (int64_t slot = 0; slot < kSlots; ++slot)
    row_of_slot[slot] = static_cast<uint32_t>(slot * 7919 % kRows);
  const at::Tensor table = at::zeros({kRows, kWidth}), slots = at::zeros({kSlots, kWidth});
  std::vector<RowMarks> of_slots;
  of_slots.emplace_back(kSlots, row_of_slot);
  for (int64_t slot = 0; slot < kSlots; slot += 2) {
    of_slots[0].add(slot);
    for (int64_t i = 0; i < kWidth; ++i) {
      const float number = 1.0F / static_cast<float>(slot * kWidth + i + 3);
      slots.data_ptr<float>()[slot * kWidth + i] = number;
      table.data_ptr<float>()[row_of_slot[slot] * kWidth + i] = number;
    }
  }
  EXPECT_EQ(clip_gradients({slots}, 0.5, of_slots), clip_gradients({table}, 0.5));
  EXPECT_EQ(slots.const_data_ptr<float>()[20 * kWidth],
            table.const_data_ptr<float>()[row_of_slot[20] * kWidth]);
}

TEST(LazyParameters, MarksOfSlotsAreInTheLedger) {
  const std::vector<uint32_t> numbers(1000);
  const int64_t before = Ledger::process().held();
  const RowMarks marks(1000, numbers);
  EXPECT_EQ(Ledger::process().held() - before, RowMarks::bytes(1000, true));
}

}  // namespace
}  // namespace plimsoll
