#include "train/evaluate/classification_evaluation.h"

#include <gtest/gtest.h>

#include <numeric>

#include "nn/gat_with_jk.h"
#include "ops/allocator.h"
#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/random_graphs.h"
#include "train/plan/warm_up.h"

namespace plimsoll {
namespace {

// What figures take comes after the blocks, which would have it all.
TEST(ClassificationEvaluation, JudgesInTheSmallestBudgetThatItNames) {
  install_ledger_allocator();
  warm_up_torch(1);
  const RandomGraphs source(1500, 20, 7);
  const auto shapes = read_shapes(source, 1);
  std::vector<NamedGraphList> lists(1, {"test", GraphList(1500)});
  std::iota(lists[0].graphs.begin(), lists[0].graphs.end(), int64_t{0});
  GnnModel model;
  model.model = std::make_unique<GATWithJK>(GATWithJKOptions{.num_ids = 20, .hidden = 4, .heads = 1}, 3);
  const auto judge_within = [&](int64_t bytes) {
    const LedgerCap cap(bytes);
    return judge_classifier(
        {.source = source, .shapes = shapes, .model = model, .limits = {4, 4096, 16384}, .lists = lists});
  };
  const std::string refused = error_text<BudgetTooSmall>([&] { judge_within(64 << 10); });
  const std::string words = "smallest budget that works is ";
  ASSERT_NE(refused.find(words), std::string::npos) << refused;
  const int64_t smallest = std::stoll(refused.substr(refused.find(words) + words.size()));
  EXPECT_EQ(judge_within(smallest - Ledger::process().held()).front().figures.items, 1500);
}

}  // namespace
}  // namespace plimsoll
