#include "sample/seeds/seed_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "support/errors.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Column = Vector<int64_t, Tag::blocks>;

SeedList list(const std::string& name, int64_t first, int64_t count) {
  SeedList list{name, {}, {}};
  for (int64_t i = 0; i < count; ++i) {
    list.nodes.push_back(first + i);
    list.labels.push_back((first + i) % 5);
  }
  return list;
}

SeedBlocks made_up() {
  return {{list("train", 0, 25), list("valid", 100, 7)},
          {.epochs = 3, .batch_size = 10, .block_seeds = 4, .seed = 1}};
}

TEST(SeedBlocks, StepsAreCutIntoBlocks) {
  const SeedBlocks blocks = made_up();
  // Steps of 10, 10 and 5 seeds make blocks of 4, 4, 2; 4, 4, 2; 4, 1.
  EXPECT_EQ(blocks.per_batch(), 3);
  EXPECT_EQ(blocks.per_epoch(), 8);
  EXPECT_EQ(blocks.blocks(), 3 * 8 + 2);
  std::vector<int64_t> counts;
  for (const int64_t number : blocks.numbers(0)) counts.push_back(blocks.block(number).count);
  EXPECT_THAT(counts, ElementsAre(4, 4, 2, 4, 4, 2, 4, 1));
  EXPECT_THAT(blocks.numbers(1), ElementsAre(24, 25));
  EXPECT_EQ(blocks.block(25).count, 3);
}

TEST(SeedBlocks, AnEpochVisitsEachSeedOnceInAnOrderOfItsOwn) {
  const SeedBlocks blocks = made_up();
  std::vector<std::vector<int64_t>> epochs;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t>& visited = epochs.emplace_back();
    Column nodes, labels;
    for (int64_t b = 0; b < blocks.per_epoch(); ++b) {
      const SeedBlocks::Block block = blocks.block(epoch * blocks.per_epoch() + b);
      EXPECT_EQ(block.epoch, epoch + 1);
      blocks.seeds(block, nodes, labels);
      for (size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(labels[i], nodes[i] % 5);
      visited.insert(visited.end(), nodes.begin(), nodes.end());
    }
    EXPECT_EQ(visited.size(), 25U);
    EXPECT_EQ(std::set<int64_t>(visited.begin(), visited.end()).size(), 25U);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
}

TEST(SeedBlocks, ListsThatDoNotTrainKeepTheirOrder) {
  const SeedBlocks blocks = made_up();
  Column nodes, labels;
  blocks.seeds(blocks.block(25), nodes, labels);
  EXPECT_THAT(nodes, ElementsAre(104, 105, 106));
  EXPECT_EQ(blocks.block(25).epoch, 0U);
}

TEST(SeedBlocks, NoListsMakeNoBlocks) {
  const SeedBlocks blocks({}, {.epochs = 3});
  EXPECT_EQ(blocks.blocks(), 0);
  EXPECT_EQ(blocks.per_epoch(), 0);
}

TEST(SeedBlocks, RefusesAnEmptySplit) {
  EXPECT_THAT(error_text<InputError>([] {
                SeedBlocks({list("train", 0, 3), list("valid", 0, 0)}, {});
              }),
              HasSubstr("'valid'"));
}

}  // namespace
}  // namespace plimsoll
