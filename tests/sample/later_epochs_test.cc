#include <gtest/gtest.h>

#include <cstring>
#include <tuple>
#include <vector>

#include "support/ledger_cap.h"
#include "support/neighbour_blocks.h"

namespace plimsoll {
namespace {

constexpr int64_t kManyEpochs = 60;

// A run of many epochs, of which only the first are sampled before it starts.
class LaterEpochsTest : public NeighbourBlocksTest {
 protected:
  NeighbourSource run(int64_t epochs = kManyEpochs) const {
    return open(5, "graph", {folder_.path(), 64 << 20}, epochs);
  }
  NeighbourSource planned(int64_t epochs = kManyEpochs) const {
    return open(5, "graph", {.folder = {}, .bytes = {}, .temporary = folder_.path()}, epochs);
  }
};

TEST_F(LaterEpochsTest, StartUpDoesNotGrowWithEpochs) {
  const auto cost_of = [](const NeighbourSource& source) {
    const size_t shapes = source.shapes(2).size();
    const StartUpCost cost = *source.start_up_cost();
    return std::tuple(shapes, source.prefix_shapes().size(), cost.graphs, cost.bytes_read,
                      cost.bytes_written);
  };
  EXPECT_EQ(cost_of(run(kManyEpochs)), cost_of(run(1000)));
  EXPECT_EQ(cost_of(planned(kManyEpochs)), cost_of(planned(1000)));
  const NeighbourSource source = run(1000);
  source.shapes(2);
  EXPECT_GE(source.bounded().first, 256);
  EXPECT_EQ(source.bounded().first % source.blocks().per_epoch(), 0);
  EXPECT_EQ(source.bounded().end, source.blocks().training_blocks());
}

TEST_F(LaterEpochsTest, TheirShapesAreBoundedAndTheOthersAreKnown) {
  const auto exact = open(5, "graph", {}, kManyEpochs);
  const auto expected = exact.shapes(2);
  const NeighbourSource source = run();
  const auto shapes = source.shapes(2);
  const GraphShapes found(shapes, source.bounded());
  for (int64_t number = 0; number < source.graphs(); ++number) {
    const GraphShape& one = expected[static_cast<size_t>(number)];
    GraphShape shape = found[number];
    if (!source.bounded().contains(number)) {
      EXPECT_EQ(std::memcmp(&shape, &one, sizeof(one)), 0) << number;
      continue;
    }
    EXPECT_GE(shape.nodes, one.nodes);
    EXPECT_GE(shape.edges, one.edges);
    EXPECT_GE(shape.self_loops, one.self_loops);
    EXPECT_GE(shape.max_in, one.max_in);
    EXPECT_GE(shape.highest_node_label, one.highest_node_label);
    for (size_t hop = 0; hop < 2; ++hop) {
      const GraphShape& bound = source.prefix_shapes()[2 * source.bounded().place_of(number) + hop];
      const GraphShape& prefix = exact.prefix_shapes()[static_cast<size_t>(2 * number) + hop];
      EXPECT_GE(bound.nodes, prefix.nodes);
      EXPECT_GE(bound.edges, prefix.edges);
      EXPECT_GE(bound.max_in, prefix.max_in);
    }
    source.count_items(number, shape);
    EXPECT_EQ(shape.labelled_nodes, one.labelled_nodes) << "the mean of a batch needs the exact number";
  }
}

// The sample of a node with any number of neighbours may be of any size.
TEST_F(LaterEpochsTest, AllEpochsAreSampledIfFanOutsAreUnlimited) {
  const NeighbourSource source(folder_ / "graph",
                               {.neighbours = {.fan_outs = {4, -1}},
                                .blocks = {.epochs = kManyEpochs, .batch_size = 64, .block_seeds = 16},
                                .scratch = {folder_.path(), 64 << 20}});
  EXPECT_EQ(static_cast<int64_t>(source.shapes(2).size()), source.graphs());
  EXPECT_TRUE(source.bounded().empty());
}

// With so little memory that samples can only be made while blocks lend theirs.
TEST_F(LaterEpochsTest, BlocksAreTheSameAndListsAreReadOnceAHop) {
  const NeighbourSource plain = open(5, "graph", {}, kManyEpochs);
  for (const int64_t bytes : {300'000, 1'500'000}) {
    const NeighbourSource source = run();
    source.shapes(2);
    source.resize_cache(bytes);
    const int64_t epoch = source.blocks().per_epoch();
    const LedgerCap cap(4 << 20);
    int lent = 0;
    for (const int64_t first : {int64_t{0}, source.bounded().first, source.bounded().end - epoch}) {
      const std::vector<int64_t> numbers = {first, first + 1, first + epoch - 1};
      const int64_t before = source.topology().counters().neighbours.bytes_read;
      source.prepare(numbers, [&] { ++lent; });
      const int64_t column = source.graph().edges() * static_cast<int64_t>(sizeof(uint32_t));
      EXPECT_LE(source.topology().counters().neighbours.bytes_read - before, 2 * column * 11 / 10);
      const int64_t prepared = source.topology().counters().neighbours.bytes_read;
      for (const int64_t number : numbers) expect_equal(block(source, number), block(plain, number));
      EXPECT_EQ(source.topology().counters().neighbours.bytes_read, prepared) << bytes;
    }
    EXPECT_EQ(lent, 1) << "the file holds all later epochs of this run";
  }
}

}  // namespace
}  // namespace plimsoll
