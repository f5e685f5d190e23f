#include "engine/plan/network_model.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace plimsoll {
namespace {

TEST(NetworkModel, ReadsSpeedsInBitsPerSecond) {
  EXPECT_EQ(parse_link_speed("25Gb"), 25e9 / 8);
  EXPECT_EQ(parse_link_speed("400Mb/s"), 50e6);
  EXPECT_EQ(parse_link_speed("1.5Gb"), 1.5e9 / 8);
  EXPECT_EQ(parse_link_speed("8Kb"), 1000);
  for (const char* const text :
       {"", "b", "25", "25G", "25GB", "Gb", "-1Gb", "0Gb", "nanGb", "1e300Gb", "25 Gb", "25gb"})
    EXPECT_THROW(parse_link_speed(text), UsageError) << text;
}

TEST(NetworkModel, AddsComputingMessagesAndBytes) {
  MemoryPlan plan;
  plan.ranks = 4;
  plan.steps = 10;
  plan.training_graphs = 1000;
  plan.bytes_sent = 1'000'000;
  plan.execution.graphs_per_s = 500;
  const RankSpeed speed = estimate_rank_speed(plan, {.bytes_per_s = 1e8, .message_s = 1e-3});
  EXPECT_DOUBLE_EQ(speed.compute_s, 100.0 / 500 / 4);
  EXPECT_DOUBLE_EQ(speed.exchange_s, (3 * 3 + 4) * 1e-3 + 0.01);
  EXPECT_DOUBLE_EQ(speed.graphs_per_s, 100 / (0.05 + 0.023));
  EXPECT_DOUBLE_EQ(speed.of_perfect, 0.05 / (0.05 + 0.023));
}

TEST(NetworkModel, SaysNothingOfAnUnknownSpeed) {
  MemoryPlan plan;
  plan.ranks = 2;
  plan.steps = 1;
  plan.training_graphs = 1;
  const RankSpeed speed = estimate_rank_speed(plan, {.bytes_per_s = 1e9});
  EXPECT_EQ(speed.compute_s, 0);
  EXPECT_EQ(speed.graphs_per_s, 0);
  EXPECT_GT(speed.exchange_s, 0);
}

}  // namespace
}  // namespace plimsoll
