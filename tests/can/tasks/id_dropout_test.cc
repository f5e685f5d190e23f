#include "nn/id_dropout.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "can/profile/unknown_ids.h"
#include "can/tasks/unknown_id_evidence.h"

namespace plimsoll {
namespace {

constexpr int64_t kNodesEach = 10;
constexpr int64_t kUnknown = 99;

// Graphs of ten nodes in a ring. x holds (ID, known, another feature), edge_attr holds (a feature, known
// transition).
Batch make_batch(int64_t graphs) {
  const int64_t nodes = graphs * kNodesEach;
  Batch batch;
  batch.x = at::ones({nodes, 3});
  batch.edge_attr = at::ones({nodes, 2});
  batch.graph_ptr = at::arange(0, nodes + 1, kNodesEach, at::kLong);
  batch.graph_item = at::arange(graphs, at::kLong);
  batch.node_keys = at::empty({3, nodes}, at::kLong);
  batch.edge_index = at::empty({2, nodes}, at::kLong);
  for (int64_t n = 0; n < nodes; ++n) {
    const int64_t graph = n / kNodesEach;
    batch.x[n][0] = static_cast<double>(n % kNodesEach);
    batch.node_keys[0][n] = graph;
    batch.node_keys[1][n] = n % kNodesEach;
    batch.edge_index[0][n] = n;
    batch.edge_index[1][n] = graph * kNodesEach + (n + 1) % kNodesEach;
  }
  batch.item_count = graphs;
  return batch;
}

// Keeps its input and has no outputs.
class RecordingObjective : public Objective {
 public:
  const ParameterList& parameters() const override { return parameters_; }
  CollateOptions collate_options() const override { return {}; }
  int64_t outputs() const override { return 2; }
  at::Tensor forward(const Batch& batch, const DropoutKey&) const override {
    seen = batch;
    return at::zeros({batch.graphs(), 2});
  }
  at::Tensor losses(const at::Tensor& outputs, const Batch&) const override { return outputs.select(1, 0); }
  mutable Batch seen;

 private:
  ParameterList parameters_{0};
};

const UnknownIds kUnknownIds{.index = kUnknown, .node_columns = {1}, .edge_columns = {1}};
constexpr DropoutKey kTraining{.training = true, .seed = 7, .epoch = 1};

double at_row(const at::Tensor& rows, int64_t row, int64_t column) {
  return rows[row][column].item<double>();
}

TEST(IdDropout, MakesMostIdsOfTheChosenGraphsUnknownAndNoOthers) {
  constexpr int64_t kGraphs = 200;
  const Batch batch = make_batch(kGraphs);
  const RecordingObjective seen;
  IdDropout(seen, kUnknownIds, 0.5).forward(batch, kTraining);
  int64_t chosen = 0;
  for (int64_t g = 0; g < kGraphs; ++g) {
    int64_t unknown = 0;
    for (int64_t n = g * kNodesEach; n < (g + 1) * kNodesEach; ++n) {
      const bool dropped = at_row(seen.seen.x, n, 0) == kUnknown;
      unknown += dropped;
      EXPECT_EQ(at_row(seen.seen.x, n, 1), dropped ? 0 : 1);
      EXPECT_EQ(at_row(seen.seen.x, n, 2), 1) << "not about IDs";
      const int64_t next = g * kNodesEach + (n + 1) % kNodesEach;
      const bool touches = dropped || at_row(seen.seen.x, next, 0) == kUnknown;
      EXPECT_EQ(at_row(seen.seen.edge_attr, n, 1), touches ? 0 : 1);
      EXPECT_EQ(at_row(seen.seen.edge_attr, n, 0), 1);
    }
    chosen += unknown > 0;
    if (unknown > 0) {
      EXPECT_GE(unknown, 4);
    }
  }
  EXPECT_NEAR(static_cast<double>(chosen), kGraphs / 2.0, 4 * std::sqrt(kGraphs / 4.0));
  EXPECT_EQ(at_row(batch.x, 0, 1), 1) << "the batch itself stays";
}

TEST(IdDropout, FollowsSeedEpochAndGraphAlone) {
  const RecordingObjective seen;
  const IdDropout dropout(seen, kUnknownIds, 0.5);
  dropout.forward(make_batch(20), kTraining);
  const at::Tensor twenty = seen.seen.x.clone();
  dropout.forward(make_batch(10), kTraining);
  EXPECT_TRUE(at::equal(seen.seen.x, twenty.slice(0, 0, 10 * kNodesEach))) << "not by the block";
  dropout.forward(make_batch(20), {.training = true, .seed = 7, .epoch = 2});
  EXPECT_FALSE(at::equal(seen.seen.x, twenty));
}

TEST(IdDropout, PredictionSeesGraphsAsTheyAreOrAllUnknown) {
  const Batch batch = make_batch(5);
  const RecordingObjective seen;
  IdDropout(seen, kUnknownIds, 0.5).forward(batch, {});
  EXPECT_TRUE(at::equal(seen.seen.x, batch.x));
  IdDropout(seen, kUnknownIds, 0, /*always=*/true).forward(batch, {});
  EXPECT_TRUE(at::all(at::eq(seen.seen.x.select(1, 0), kUnknown)).item<bool>());
  EXPECT_EQ(seen.seen.edge_attr.select(1, 1).sum().item<double>(), 0);
}

TEST(UnknownIdEvidence, IsAddedWhereMoreThanAFifthIsKnown) {
  Batch batch = make_batch(4);
  batch.x[kNodesEach][0] = kUnknown;  // Unknown IDs: one in graph 1, eight in graph 2, seven in graph 3.
  for (int64_t n = 0; n < 8; ++n) batch.x[2 * kNodesEach + n][0] = kUnknown;
  for (int64_t n = 0; n < 7; ++n) batch.x[3 * kNodesEach + n][0] = kUnknown;
  const RecordingObjective seen;
  const at::Tensor logits = UnknownIdEvidence(seen, kUnknown).forward(batch, {});
  EXPECT_EQ(at_row(logits, 0, 1), 0) << "all IDs are known";
  EXPECT_EQ(at_row(logits, 1, 1), kUnknownIdEvidence);
  EXPECT_EQ(at_row(logits, 2, 1), 0) << "another vehicle";
  EXPECT_EQ(at_row(logits, 3, 1), kUnknownIdEvidence);
  EXPECT_EQ(logits.select(1, 0).abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace plimsoll
