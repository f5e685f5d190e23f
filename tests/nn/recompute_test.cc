#include "nn/recompute.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <thread>

#include "base/word_text.h"
#include "memory/slab.h"
#include "nn/classification.h"
#include "nn/gat_with_jk.h"
#include "nn/gnn.h"
#include "ops/allocator.h"
#include "ops/attention/attention.h"
#include "support/all_values.h"
#include "support/errors.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

constexpr DropoutKey kTraining{.training = true, .seed = 9, .epoch = 2};

at::Tensor pattern(int64_t rows, int64_t columns, double step) {
  return at::sin(at::arange(rows * columns, at::kFloat) * step).view({rows, columns});
}

// Graphs of 12 nodes and 30 edges each; the first feature is an ID below 12.
Batch make_batch(int64_t graphs, const CollateOptions& options) {
  const int64_t nodes = 12 * graphs;
  const at::Tensor node = at::arange(nodes);
  const at::Tensor edge = at::arange(30 * graphs);
  const at::Tensor first = edge.div(30, "floor") * 12;
  const at::Tensor edge_index = at::stack({first + (edge * 7) % 12, first + (edge * edge) % 11});
  Batch batch;
  batch.x = at::cat({(node % 12).to(at::kFloat).unsqueeze(1), pattern(nodes, 5, 0.37)}, 1);
  batch.edge_attr = pattern(30 * graphs, 4, 0.73);
  batch.edge_order = edge_order(edge_index, nodes, nodes, true, !options.self_loops);
  batch.graph_ptr = at::arange(graphs + 1) * 12;
  batch.y = at::arange(graphs) % 2;
  batch.node_keys = at::stack({node.div(12, "floor"), node % 12, node.div(12, "floor") * 30});
  batch.graph_item = at::arange(graphs);
  batch.graph_local = at::zeros({graphs}, at::kLong);
  return batch;
}

// Runs one block and returns its losses, gradients and statistics. Nothing else remains in memory.
std::vector<at::Tensor> step(const GraphModel& model, Batch batch, bool recompute) {
  batch.recompute = recompute;
  batch.statistics = std::make_shared<BlockStatistics>();
  const Classification objective(model);
  const at::Tensor losses = objective.losses(objective.forward(batch, kTraining), batch);
  std::vector<at::Tensor> all = torch::autograd::grad({losses.sum()}, model.parameters().from(0));
  all.push_back(losses.detach());
  for (const BlockStatistics::Entry& entry : batch.statistics->entries) {
    all.push_back(entry.mean);
    all.push_back(entry.variance);
  }
  return all;
}

void expect_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                 const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << what << ", tensor " << i;
}

class Recompute : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    at::set_num_threads(1);
  }
  static int64_t peak(const GraphModel& model, const Batch& batch, bool recompute) {
    Ledger& ledger = Ledger::process();
    ledger.begin_recent();
    const int64_t before = ledger.held();
    step(model, batch, recompute);
    return ledger.recent_peak() - before;
  }
};

TEST_F(Recompute, EveryModelGivesTheSameBits) {
  for (const ConvKind conv : all_values<ConvKind>())
    for (const NormKind norm : all_values<NormKind>())
      for (const LayerJoin jk : all_values<LayerJoin>())
        for (const Reduce pooling : all_values<Reduce>())
          for (const int64_t ids : {0, 12}) {
            const Gnn model({.conv = conv,
                             .in_features = 6,
                             .edge_features = 4,
                             .num_ids = ids,
                             .layers = 4,
                             .hidden = 12,
                             .heads = 2,
                             .norm = norm,
                             .jk = jk,
                             .pooling = pooling,
                             .dropout = 0.3},
                            5);
            const Batch batch = make_batch(20, model.collate_options());
            expect_same(step(model, batch, false), step(model, batch, true),
                        fmt::format("{} {} {} {}", conv, norm, jk, pooling));
          }
  const GATWithJK model({.num_ids = 12, .in_features = 6, .layers = 4, .hidden = 8, .dropout = 0.3}, 5);
  const Batch batch = make_batch(20, {});
  expect_same(step(model, batch, false), step(model, batch, true), "GATWithJK");
  for (const AttentionKind attention : all_values<AttentionKind>())
    for (const JkMode jk : {JkMode::max, JkMode::lstm}) {
      const GATWithJK other({.num_ids = 12,
                             .in_features = 6,
                             .layers = 3,
                             .hidden = 8,
                             .dropout = 0.3,
                             .attention = attention,
                             .edge_features = 4,
                             .jk = jk},
                            5);
      expect_same(step(other, batch, false), step(other, batch, true), fmt::format("{} {}", attention, jk));
    }
}

// Reentrant backward passes must not move to another thread, because the range that memory comes from belongs
// to the thread.
TEST_F(Recompute, BlocksOnManyThreadsGiveTheSameBitsFromTheirOwnRanges) {
  const Gnn model({.conv = ConvKind::gin,
                   .in_features = 6,
                   .layers = 5,
                   .hidden = 16,
                   .norm = NormKind::batch,
                   .jk = LayerJoin::cat},
                  5);
  const Batch batch = make_batch(50, model.collate_options());
  const auto expected = step(model, batch, false);
  Slab slab;
  constexpr int64_t kRange = 4 << 20;
  slab.resize(4 * kRange);
  std::vector<SlabRange> ranges;
  for (int t = 0; t < 4; ++t) ranges.push_back(slab.take(kRange));
  Ledger::process().begin_recent();
  const int64_t before = Ledger::process().held();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const RangeScope scope(ranges[static_cast<size_t>(t)]);
      for (int round = 0; round < 20; ++round) expect_same(step(model, batch, true), expected, "thread");
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(slab.overflows(), 0);
  EXPECT_EQ(Ledger::process().recent_peak(), before) << "a tensor was made outside the ranges";
}

TEST_F(Recompute, ADeepModelNeedsLessMemory) {
  for (const ConvKind conv : all_values<ConvKind>()) {
    const Gnn model({.conv = conv, .in_features = 6, .layers = 8, .hidden = 32, .dropout = 0.2}, 5);
    const Batch batch = make_batch(200, model.collate_options());
    const int64_t recomputed = peak(model, batch, true);
    const int64_t kept = peak(model, batch, false);
    EXPECT_LT(recomputed, kept) << word_of(conv);
    // GCN keeps little more than the outputs of its layers, which are kept either way.
    if (conv != ConvKind::gcn) {
      EXPECT_LT(recomputed, 0.65 * static_cast<double>(kept)) << word_of(conv);
    }
  }
}

// Wherever memory is refused, also in a layer that runs again, the error keeps its type and no memory stays
// in use.
TEST_F(Recompute, ARefusalAnywhereIsTypedAndLeavesNothing) {
  const Gnn model({.conv = ConvKind::gin,
                   .in_features = 6,
                   .layers = 4,
                   .hidden = 16,
                   .norm = NormKind::batch,
                   .dropout = 0.2},
                  5);
  const Batch batch = make_batch(30, model.collate_options());
  const auto expected = step(model, batch, true);
  const int64_t need = peak(model, batch, true);
  const int64_t held = Ledger::process().held();
  int refused = 0;
  for (int64_t free = need / 50; free < need; free += need / 50) {
    try {
      const LedgerCap cap(free);
      step(model, batch, true);
    } catch (const BudgetExceeded&) {
      ++refused;
    }
    EXPECT_EQ(Ledger::process().held(), held) << free << " of " << need;
  }
  EXPECT_GE(refused, 45);
  expect_same(step(model, batch, true), expected, "afterwards");
}

// A layer that fails when it runs again, after one that has just been recomputed.
TEST_F(Recompute, AnErrorOfALayerThatRunsAgainComesOutOfBackward) {
  const at::Tensor weight = at::ones({8, 8}).set_requires_grad(true);
  const int64_t held = Ledger::process().held();
  int runs = 0;
  const Layer layer = [&](const at::Tensor& x) {
    if (++runs == 4) throw InputError("the layer ran again");
    return at::mm(x, weight).relu();
  };
  EXPECT_EQ(error_text<InputError>([&] {
              const at::Tensor h = run_layer(layer, at::ones({5, 8}), {weight}, true);
              torch::autograd::grad({run_layer(layer, h, {weight}, true).sum()}, {weight});
            }),
            "the layer ran again");
  EXPECT_EQ(Ledger::process().held(), held);
}

TEST_F(Recompute, LayersRunOnceWhereNothingIsDifferentiated) {
  const at::Tensor weight = at::ones({8, 8}).set_requires_grad(true);
  int runs = 0;
  const Layer layer = [&](const at::Tensor& x) {
    ++runs;
    return at::mm(x, weight);
  };
  const c10::AutoGradMode no_gradients(false);
  run_layer(layer, at::ones({5, 8}), {weight}, true);
  EXPECT_EQ(runs, 1);
}

TEST_F(Recompute, SecondDerivativesAreRefused) {
  const at::Tensor weight = at::ones({8, 8}).set_requires_grad(true);
  const Layer layer = [&](const at::Tensor& x) { return at::mm(x, weight).square(); };
  const at::Tensor y = run_layer(layer, at::ones({5, 8}), {weight}, true);
  EXPECT_THAT(error_text<UsageError>([&] {
                torch::autograd::grad({y.sum()}, {weight}, {}, std::nullopt, /*create_graph=*/true);
              }),
              ::testing::HasSubstr("no second derivatives"));
}

}  // namespace
}  // namespace plimsoll
