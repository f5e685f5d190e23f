#include "nn/live_teacher.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "nn/id_dropout.h"

namespace plimsoll {
namespace {

// Returns the first feature of each graph's first node, and keeps the batch that it was given.
class Seen : public Objective {
 public:
  const ParameterList& parameters() const override { return parameters_; }
  CollateOptions collate_options() const override { return {.edge_index = true}; }
  int64_t outputs() const override { return 1; }
  at::Tensor forward(const Batch& batch, const DropoutKey& dropout_key) const override {
    seen = batch;
    key = dropout_key;
    gradients = c10::GradMode::is_enabled();
    return (batch.x + parameters_.entries()[0].value).select(1, 0).unsqueeze(1);
  }
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override {
    return (outputs - batch.teacher).square().sum(1);
  }
  Seen() { parameters_.add("weight", {1}, Init::zeros()); }
  mutable Batch seen;
  mutable DropoutKey key;
  mutable bool gradients = false;

 private:
  ParameterList parameters_{0};
};

Batch batch_of_one_node_graphs(int64_t graphs) {
  Batch batch;
  batch.x = at::ones({graphs, 2});
  batch.edge_attr = at::ones({0, 2});
  batch.edge_index = at::empty({2, 0}, at::kLong);
  batch.graph_item = at::arange(graphs, at::kLong);
  batch.node_keys = at::zeros({3, graphs}, at::kLong);
  batch.node_keys[0].copy_(batch.graph_item);
  batch.item_count = graphs;
  return batch;
}

TEST(LiveTeacher, SaysWhatItThinksOfTheWindowAsItIs) {
  const Seen teacher;
  const Seen student;
  const IdDropout dropped(student, {.index = 99}, 1);
  const LiveTeacher objective(dropped, teacher);
  EXPECT_EQ(&objective.parameters(), &student.parameters());
  Batch batch = batch_of_one_node_graphs(40);
  objective.prepare(batch);
  const DropoutKey training{.training = true, .seed = 7, .epoch = 1};
  const at::Tensor outputs = objective.forward(batch, training);
  EXPECT_TRUE(at::equal(teacher.seen.x, at::ones({40, 2})));
  EXPECT_FALSE(teacher.key.training);
  EXPECT_GT((student.seen.x == 99).sum().item<int64_t>(), 20);
  EXPECT_TRUE(student.key.training);
  EXPECT_TRUE(at::equal(student.seen.teacher, at::ones({40, 1})));
  EXPECT_EQ(objective.losses(outputs, batch).max().item<double>(), 98 * 98);
}

TEST(LiveTeacher, LearnsNothing) {
  const Seen teacher;
  const Seen student;
  const LiveTeacher objective(student, teacher);
  Batch batch = batch_of_one_node_graphs(3);
  objective.prepare(batch);
  EXPECT_FALSE(teacher.gradients);
  EXPECT_FALSE(batch.teacher.requires_grad());
  objective.forward(batch, {});
  EXPECT_TRUE(student.gradients);
}

// Conversely, an objective that wraps a student passes on what the student prepares.
TEST(LiveTeacher, IsAskedThroughIdDropout) {
  const Seen teacher;
  const Seen student;
  const LiveTeacher taught(student, teacher);
  const IdDropout objective(taught, {.index = 99}, 1);
  Batch batch = batch_of_one_node_graphs(3);
  objective.prepare(batch);
  EXPECT_TRUE(at::equal(batch.teacher, at::ones({3, 1})));
}

}  // namespace
}  // namespace plimsoll
