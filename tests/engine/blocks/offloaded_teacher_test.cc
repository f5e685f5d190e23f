#include "engine/blocks/offloaded_teacher.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "memory/ledger.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// Outputs three numbers per node, or per graph.
class ZeroObjective : public Objective {
 public:
  explicit ZeroObjective(Items items, int64_t outputs = 3) : items_(items), outputs_(outputs) {}
  const ParameterList& parameters() const override { return parameters_; }
  CollateOptions collate_options() const override { return {.items = items_}; }
  int64_t outputs() const override { return outputs_; }
  at::Tensor forward(const Batch& batch, const DropoutKey&) const override {
    return at::zeros({batch.item_count, outputs_});
  }
  at::Tensor losses(const at::Tensor& outputs, const Batch&) const override { return outputs.select(1, 0); }

 private:
  Items items_;
  int64_t outputs_;
  ParameterList parameters_{0};
};

class OffloadedTeacherTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { install_ledger_allocator(); }
  OffloadedTeacherTest() {
    for (const int32_t nodes : {5, 2, 9, 1, 4, 7}) {
      shapes_.emplace_back().nodes = nodes;
      (shapes_.size() < 5 ? split_.training : split_.validation)
          .push_back(static_cast<int64_t>(shapes_.size()) - 1);
    }
    training_.batch_size = 3;
    training_.block = {.graphs = 2, .nodes = 10, .edges = 100};
  }
  OffloadedTeacher teacher(const Objective& objective) const {
    return {objective, [] {}, shapes_, split_, training_};
  }
  static GraphBlock block_of(int64_t graphs, int64_t nodes) {
    GraphBlock block;
    block.clear();
    block.y.resize(static_cast<size_t>(graphs));
    block.node_ptr.resize(static_cast<size_t>(graphs) + 1, nodes);
    return block;
  }

  std::vector<GraphShape> shapes_;
  TrainingSplit split_;
  TrainingSection training_;
};

TEST_F(OffloadedTeacherTest, EachBlockHasRowsToItself) {
  const ZeroObjective nodes(Items::nodes);
  OffloadedTeacher of_nodes = teacher(nodes);
  of_nodes.make_room();
  const int64_t all[] = {2, 1, 0};
  ASSERT_TRUE(of_nodes.add(std::span(all).first(2)));
  ASSERT_TRUE(of_nodes.add(std::span(all).last(1)));
  of_nodes.rows(block_of(2, 11), 0).fill_(1);
  of_nodes.rows(block_of(1, 5), 2).fill_(2);
  EXPECT_EQ(of_nodes.rows(block_of(2, 11), 0).sum().item<double>(), 33);
  EXPECT_EQ(of_nodes.rows(block_of(1, 5), 2).sum().item<double>(), 30);

  const ZeroObjective graphs(Items::graphs);
  OffloadedTeacher of_graphs = teacher(graphs);
  of_graphs.make_room();
  ASSERT_TRUE(of_graphs.add(std::span(all).first(2)));
  ASSERT_TRUE(of_graphs.add(std::span(all).last(1)));
  of_graphs.rows(block_of(1, 5), 2).fill_(2);
  EXPECT_EQ(of_graphs.rows(block_of(2, 11), 0).sum().item<double>(), 0);
  EXPECT_EQ(of_graphs.rows(block_of(1, 5), 2).sum().item<double>(), 6);
}

TEST_F(OffloadedTeacherTest, HasRoomForABatchAndSaysWhatItTakes) {
  const ZeroObjective objective(Items::nodes);
  OffloadedTeacher offloaded = teacher(objective);
  EXPECT_EQ(offloaded.bytes(), 3 * 9 * 3 * 4 + 3 * 8);
  const int64_t before = Ledger::process().held(Tag::columns);
  offloaded.make_room();
  EXPECT_EQ(Ledger::process().held(Tag::columns) - before, offloaded.bytes());
  const int64_t all[] = {0, 1, 2, 3};
  EXPECT_TRUE(offloaded.add(std::span(all).first(3)));
  EXPECT_FALSE(offloaded.add(std::span(all).last(1))) << "more graphs than a batch has";
  offloaded.clear();
  EXPECT_TRUE(offloaded.add(std::span(all).last(1)));
  EXPECT_EQ(Ledger::process().held(Tag::columns) - before, offloaded.bytes());
}

// The teacher's memory does not grow with the batch, and one block always fits.
TEST_F(OffloadedTeacherTest, ALargeBatchIsAskedAboutInSeveralGoes) {
  training_.batch_size = 1'000'000;
  const ZeroObjective wide(Items::nodes, 100'000);
  const OffloadedTeacher offloaded = teacher(wide);
  EXPECT_LE(offloaded.bytes(), OffloadedTeacher::kMaxBytes + 8 * 4);
  const ZeroObjective wider(Items::nodes, 1'000'000);
  EXPECT_EQ(teacher(wider).bytes(), 10 * 4'000'000 + 8 * 4);
}

// A recipe's batch may be larger than the data set, up to the largest number allowed.
TEST_F(OffloadedTeacherTest, HasNoRoomForMoreGraphsThanThereAre) {
  const ZeroObjective objective(Items::nodes);
  training_.batch_size = 4;
  const int64_t bytes = teacher(objective).bytes();
  training_.batch_size = training_.block.graphs = 1'000'000'000'000;
  shapes_[0].nodes = 20'000'000;
  EXPECT_EQ(teacher(objective).max_graphs(), 4);
  EXPECT_EQ(teacher(objective).bytes(), int64_t{20'000'000 * 3} * 4 + 4 * 8);
  shapes_[0].nodes = 5;
  EXPECT_EQ(teacher(objective).bytes(), bytes);
}

TEST_F(OffloadedTeacherTest, OfAMadeUpBlockItIsWhatTheBlockHasWithIt) {
  const ZeroObjective objective(Items::nodes);
  OffloadedTeacher offloaded = teacher(objective);
  GraphBlock block = block_of(1, 2);
  block.teacher = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(offloaded.rows(block, 0).sum().item<double>(), 21);
  EXPECT_EQ(offloaded.with_outputs({7, 8}).teacher.numbers(1, 2), 6);
}

}  // namespace
}  // namespace plimsoll
