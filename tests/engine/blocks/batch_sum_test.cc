#include "engine/blocks/batch_sum.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/blocks/lane_tree.h"
#include "memory/ledger.h"
#include "nn/learned_rows.h"

namespace plimsoll {
namespace {

constexpr int64_t kRows = 200, kWidth = 3, kLookedUp = 9, kBlocks = 7;

struct TableAndBias {
  TableAndBias() {
    parameters.add("table", {kRows, kWidth}, Init::zeros());
    parameters.add("bias", {kWidth}, Init::zeros());
    parameters.make_lazy("table");
  }
  ParameterList parameters{1};
};

at::Tensor numbers_of_rows(int64_t rows, double phase) {
  return at::sin(at::arange(rows * kWidth, at::kFloat) * 0.37 + phase).view({rows, kWidth});
}

// Rows of a block; the first and the last are the same.
at::Tensor ids_of(int64_t block) {
  at::Tensor ids = (at::arange(kLookedUp) * 31 + block * 17).remainder(kRows);
  ids[kLookedUp - 1] = ids[0];
  return ids;
}

BlockGradients by_rows(const TableAndBias& model, int64_t block) {
  return {{numbers_of_rows(kLookedUp, static_cast<double>(block)), numbers_of_rows(1, 0.5).view({kWidth})},
          model.parameters.entries()[0].value,
          ids_of(block)};
}

// The same gradients as torch would have summed them.
BlockGradients whole(const TableAndBias& model, int64_t block) {
  BlockGradients gradients = by_rows(model, block);
  at::Tensor table = at::zeros({kRows, kWidth});
  for (int64_t i = 0; i < kLookedUp; ++i) table[gradients.ids[i].item<int64_t>()] += gradients.values[0][i];
  gradients.values[0] = table;
  return {gradients.values, {}, {}};
}

template <typename Make>
const BatchSum& sum_up(LaneTree<BatchSum>& tree, const TableAndBias& model, const Make& make) {
  tree.begin(kBlocks);
  for (int64_t b = 0; b < kBlocks; ++b)
    tree.add([&](BatchSum& sum) { sum.add(make(model, b), BlockStatistics(), 1); });
  return tree.end();
}

TEST(BatchSum, RowsOfBlocksAddUpToTheGradientOfTheTable) {
  const TableAndBias model;
  const auto make = [&] { return BatchSum(model.parameters); };
  LaneTree<BatchSum> rows(4, make), tables(4, make);
  for (int batch = 0; batch < 2; ++batch) {  // The second batch starts from sums that were cleared.
    const BatchSum& mine = sum_up(rows, model, by_rows);
    const BatchSum& expected = sum_up(tables, model, whole);
    for (size_t p = 0; p < 2; ++p)
      EXPECT_LT((mine.gradients[p] - expected.gradients[p]).abs().max().item<float>(), 1e-6F) << p;
    EXPECT_EQ(mine.loss, kBlocks);
  }
}

TEST(BatchSum, MarksTheRowsThatBlocksLookedUpAndNoOthers) {
  const TableAndBias model;
  LaneTree<BatchSum> tree(4, [&] { return BatchSum(model.parameters); });
  const BatchSum& sum = sum_up(tree, model, by_rows);
  std::vector<int64_t> marked, expected;
  sum.rows[0].each([&](int64_t row) { marked.push_back(row); });
  for (int64_t row = 0; row < kRows; ++row)
    if (sum.gradients[0][row].abs().max().item<float>() > 0) expected.push_back(row);
  EXPECT_EQ(marked, expected);
  EXPECT_LT(marked.size(), static_cast<size_t>(kRows) / 2);
  EXPECT_FALSE(sum.rows[1].known());
}

TEST(BatchSum, AGradientOfTheWholeTableMarksEveryRow) {
  const TableAndBias model;
  BatchSum sum(model.parameters);
  sum.add(whole(model, 0), BlockStatistics(), 1);
  int64_t marked = 0;
  sum.rows[0].each([&](int64_t row) { EXPECT_EQ(row, marked++); });
  EXPECT_EQ(marked, kRows);
}

TEST(BatchSum, MarksAreInTheLedger) {
  const int64_t before = Ledger::process().held();
  const RowMarks marks(1 << 20);
  EXPECT_EQ(Ledger::process().held() - before, RowMarks::bytes(1 << 20));
}

TEST(LearnedRows, TheGradientHasTheSizeOfTheLookup) {
  const TableAndBias model;
  const ParameterList::Entry& table = model.parameters.entries()[0];
  EXPECT_FALSE(learned_rows(table, ids_of(0)).is_leaf());
  const LearnedRowsScope scope;
  const at::Tensor rows = learned_rows(table, ids_of(0));
  EXPECT_TRUE(rows.is_leaf() && rows.requires_grad());
  EXPECT_TRUE(at::equal(rows, table.value.index_select(0, ids_of(0))));
  const std::vector<at::Tensor> leaves = scope.leaves({table.value, model.parameters.entries()[1].value});
  EXPECT_TRUE(leaves[0].is_same(rows));
  EXPECT_TRUE(leaves[1].is_same(model.parameters.entries()[1].value));
  EXPECT_THROW(learned_rows(table, ids_of(1)), Failure);
}

}  // namespace
}  // namespace plimsoll
