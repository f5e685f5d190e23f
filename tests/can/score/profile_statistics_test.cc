#include "can/score/profile_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "can/score/behaviour_columns.h"
#include "support/behaviour_test.h"

namespace plimsoll {
namespace {

using namespace behaviour;  // NOLINT(google-build-using-namespace): the columns, by name
using testing::Each;
using Columns = std::vector<std::pair<size_t, float>>;

// An edge of a graph (source, target, columns); other columns are zero.
struct MadeEdge {
  int32_t source;
  int32_t target;
  Columns columns;
};
void append(GraphBlock& block, const std::vector<Columns>& nodes, const std::vector<MadeEdge>& edges) {
  const auto add = [](auto& rows, size_t width, const Columns& columns) {
    const size_t start = rows.size();
    rows.resize(start + width, 0.0F);
    for (const auto& [column, value] : columns) rows[start + column] = value;
  };
  for (const Columns& node : nodes) add(block.x, kNodeColumns, node);
  for (const MadeEdge& edge : edges) {
    add(block.edge_attr, kEdgeColumns, edge.columns);
    block.edges.insert(block.edges.end(), {edge.source, edge.target});
  }
  block.node_ptr.push_back(block.node_ptr.back() + std::ssize(nodes));
  block.edge_ptr.push_back(block.edge_ptr.back() + std::ssize(edges));
  block.y.push_back(0);
}

float of(const ProfileStatistics& statistics, Statistic statistic) {
  return statistics[static_cast<size_t>(statistic)];
}

class Statistics : public testing::Test {
 protected:
  void SetUp() override {
    block_.clear();
    // Another graph comes first, so that positions in the block differ from those in the graph.
    append(block_, {{{kCountShare, 1}, {kKnown, 1}, {kEarly, 1}}}, {{0, 0, {{kEdgeCountShare, 1}}}});
  }
  ProfileStatistics last() const { return profile_statistics(block_, block_.graphs() - 1, {}, false); }

  GraphBlock block_;
};

const Columns kKnownHalf = {{kCountShare, 0.5F}, {kKnown, 1},       {kEarly, 0.125F},   {kEarlyShare, 0.5F},
                            {kSurplus, 0.25F},   {kSilence, 0.25F}, {kWindowGap, 0.75F}};
const Columns kKnownQuarter = {{kCountShare, 0.25F}, {kKnown, 1},   {kEarly, 0.375F},   {kEarlyShare, 1},
                               {kSurplus, 0},        {kSilence, 0}, {kWindowGap, 0.75F}};
const Columns kUnknown = {{kCountShare, 0.25F}, {kWindowGap, 0.75F}};
const Columns kOverdue = {{kKnown, 1}, {kSilence, 0.5F}, {kWindowGap, 0.75F}};

TEST_F(Statistics, AreSharesOfFramesAndTheWorstOfIds) {
  append(block_, {kKnownHalf, kUnknown, kKnownQuarter}, {});
  EXPECT_FLOAT_EQ(of(last(), Statistic::unknown), 0.25F);
  EXPECT_FLOAT_EQ(of(last(), Statistic::early), 3);  // In doublings.
  EXPECT_FLOAT_EQ(of(last(), Statistic::early_share), 0.5F * 0.5F + 0.25F);
  EXPECT_FLOAT_EQ(of(last(), Statistic::surplus), 0.125F);
  EXPECT_FLOAT_EQ(of(last(), Statistic::silence), 2);
  EXPECT_FLOAT_EQ(of(last(), Statistic::load), 0.25F * 23.253497F);
  EXPECT_EQ(of(last(), Statistic::transitions), 0);
}

TEST_F(Statistics, OfOverdueIdsAreTheirSilence) {
  append(block_, {kKnownHalf, kKnownHalf, kOverdue}, {});
  EXPECT_FLOAT_EQ(of(last(), Statistic::silence), 4);
  EXPECT_EQ(of(last(), Statistic::unknown), 0);
}

TEST_F(Statistics, OfTransitionsAreOfThoseBetweenKnownIds) {
  append(block_, {kKnownHalf, kUnknown, kKnownQuarter},
         {{0, 0, {{kEdgeCountShare, 0.5F}, {kKnownTransition, 1}}},
          {0, 1, {{kEdgeCountShare, 0.125F}}},
          {0, 2, {{kEdgeCountShare, 0.25F}}},
          {1, 2, {{kEdgeCountShare, 0.03125F}}},
          {2, 0, {{kEdgeCountShare, 0.0625F}}}});
  EXPECT_FLOAT_EQ(of(last(), Statistic::transitions), 0.3125F);
}

TEST_F(Statistics, OfAnotherVehicleAreAllZero) {
  // One known ID among five; overdue IDs do not count.
  const std::vector<Columns> five = {kKnownHalf, kUnknown, kUnknown, kUnknown, kUnknown, kOverdue};
  append(block_, five, {{0, 0, {{kEdgeCountShare, 1}}}});
  EXPECT_THAT(last(), Each(0));
  append(block_, {five.begin() + 1, five.begin() + 5}, {});
  EXPECT_THAT(last(), Each(0));
  append(block_, {five.begin(), five.begin() + 4}, {});
  EXPECT_FLOAT_EQ(of(last(), Statistic::unknown), 0.75F);
  EXPECT_GT(of(last(), Statistic::load), 0);
}

TEST_F(Statistics, OfTheVehicleItselfAreNeverOfAnother) {
  append(block_, {kUnknown, kUnknown, kUnknown, kUnknown}, {});
  const auto own = profile_statistics(block_, block_.graphs() - 1, {}, true);
  EXPECT_FLOAT_EQ(of(own, Statistic::unknown), 1);
  EXPECT_GT(of(own, Statistic::load), 0);
}

TEST_F(Statistics, OfAnEmptyWindowAreAllZero) {
  append(block_, {}, {});
  EXPECT_THAT(last(), Each(0));
}

TEST_F(Statistics, HaveNoLoadWithoutAGap) {
  append(block_, {{{kCountShare, 1}, {kKnown, 1}}}, {});
  EXPECT_THAT(last(), Each(0));
}

TEST(StatisticNames, AreThoseOfTheEnum) {
  EXPECT_EQ(statistic_names()[static_cast<size_t>(Statistic::unknown)], "unknown");
  EXPECT_EQ(statistic_names()[static_cast<size_t>(Statistic::early_share)], "early_share");
  EXPECT_EQ(statistic_names()[static_cast<size_t>(Statistic::transitions)], "transitions");
}

}  // namespace
}  // namespace plimsoll
