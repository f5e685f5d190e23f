#include "tasks/classes/classification_evaluation.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "base/units.h"
#include "engine/plan/warm_up.h"
#include "nn/gat_with_jk.h"
#include "ops/allocator.h"
#include "support/ledger_cap.h"
#include "support/random_graphs.h"

namespace plimsoll {
namespace {

// Memory for metrics is reserved before blocks are planned, which would otherwise use all of it.
TEST(ClassificationEvaluation, ALargerBudgetIsNeverRefusedWhereASmallerOneJudges) {
  install_ledger_allocator();
  warm_up_torch(2);
  constexpr int64_t kGraphs = 20000;
  const RandomGraphs source(kGraphs, 20, 7);
  const auto shapes = read_shapes(source, 1);
  std::vector<NamedGraphList> lists(1, {"test", GraphList(kGraphs)});
  std::iota(lists[0].graphs.begin(), lists[0].graphs.end(), int64_t{0});
  GnnModel model;
  model.model = std::make_unique<GATWithJK>(GatOptions{.num_ids = 20, .hidden = 4, .heads = 1}, 3);
  const auto is_judged = [&](int64_t bytes) {
    const LedgerCap cap(bytes);
    try {
      return evaluate_classifier({.source = source,
                                  .shapes = shapes,
                                  .model = model,
                                  .limits = {64, 4096, 16384},
                                  .memory = {.threads = 2},
                                  .lists = lists})
                 .front()
                 .figures.items == kGraphs;
    } catch (const Error&) {
      return false;
    }
  };
  const int64_t step = classification_figures_bytes(kGraphs, 2) / 2;
  int64_t bytes = step;
  while (!is_judged(bytes)) bytes += step;
  for (const int64_t min = bytes; bytes < min + 3 * kMiB; bytes += step)
    EXPECT_TRUE(is_judged(bytes)) << bytes;
}

}  // namespace
}  // namespace plimsoll
