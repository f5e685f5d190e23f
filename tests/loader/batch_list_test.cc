#include "loader/batch_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "loader/loader_set.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class BatchListing : public testing::Test {
 protected:
  // Graphs of 1, 2, ..., 10 nodes and as many edges.
  static GraphColumns growing() {
    GraphColumns columns;
    for (int32_t g = 0; g < 10; ++g) {
      for (int32_t i = 0; i <= g; ++i) {
        columns.x.insert(columns.x.end(), 3, 0.0F);
        columns.edges.insert(columns.edges.end(), {i, i});
        columns.edge_attr.insert(columns.edge_attr.end(), 2, 0.0F);
      }
      columns.node_ptr.push_back(columns.node_ptr.back() + g + 1);
      columns.edge_ptr.push_back(columns.edge_ptr.back() + g + 1);
      columns.y.push_back(0);
    }
    return columns;
  }

  BatchLister lister(const Batching& batching, int64_t graphs = 10) const {
    return {*set_, fields_, first_numbers(graphs), batching};
  }
  static std::vector<std::vector<int64_t>> rows(const BatchList& list) {
    std::vector<std::vector<int64_t>> batches;
    for (int64_t b = 0; b < list.size(); ++b) batches.emplace_back(list[b].begin(), list[b].end());
    return batches;
  }

  LoaderSet files_{growing()};
  std::shared_ptr<const GraphSetView> set_ = files_.open();
  BatchFields fields_{*set_};
};

TEST_F(BatchListing, CountsGraphs) {
  EXPECT_THAT(rows(lister({.graphs = 4}).list(0)),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7), ElementsAre(8, 9)));
  EXPECT_THAT(rows(lister({.graphs = 4, .drop_last = true}).list(0)),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
  EXPECT_EQ(lister({.graphs = 5, .drop_last = true}).list(0).size(), 2);
  EXPECT_EQ(lister({.graphs = 4}, 0).list(0).size(), 0);
}

TEST_F(BatchListing, ClosesABatchBeforeItExceedsALimit) {
  EXPECT_THAT(rows(lister({.graphs = 100, .nodes = 10}).list(0)),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4), ElementsAre(5), ElementsAre(6),
                          ElementsAre(7), ElementsAre(8), ElementsAre(9)));
  EXPECT_EQ(rows(lister({.graphs = 100, .edges = 10}).list(0)),
            rows(lister({.graphs = 100, .nodes = 10}).list(0)));
  const auto with_bytes = [&](int64_t bytes) {
    return rows(lister({.graphs = 100, .bytes = bytes}).list(0));
  };
  const int64_t bytes = fields_.bytes({2, 17, 17});
  EXPECT_THAT(with_bytes(bytes), Contains(ElementsAre(7, 8)));
  EXPECT_THAT(with_bytes(bytes - 1), Not(Contains(ElementsAre(7, 8))));
}

TEST_F(BatchListing, RefusesOrSkipsAGraphBeyondALimit) {
  EXPECT_THAT(error_text<UsageError>([&] { lister({.graphs = 4, .nodes = 8}); }),
              HasSubstr("graph 8: has 9 nodes, max_nodes=8"));
  EXPECT_THAT(error_text<UsageError>([&] { lister({.graphs = 4, .edges = 8}); }),
              HasSubstr("9 edges, max_edges=8"));
  EXPECT_THAT(error_text<UsageError>([&] { lister({.graphs = 4, .bytes = 100}); }),
              HasSubstr("max_bytes=100"));
  const BatchLister some = lister({.graphs = 4, .nodes = 8, .skip_too_big = true});
  EXPECT_EQ(some.graphs(), 8);
}

TEST_F(BatchListing, MakesSmallerBatchesForMoreSteps) {
  for (int64_t min = 1; min <= 10; ++min)
    for (const bool drop_last : {false, true})
      EXPECT_GE(lister({.graphs = 4, .min_steps = min, .drop_last = drop_last}).list(0).size(), min);
  EXPECT_EQ(lister({.graphs = 4, .min_steps = 2}).list(0).size(), 3);
  EXPECT_THAT(error_text<UsageError>([&] { lister({.min_steps = 11}).list(0); }),
              HasSubstr("there are 10 graphs"));
}

TEST_F(BatchListing, ShufflesBySeedAndEpoch) {
  const auto order = [&](uint64_t seed, uint32_t epoch) {
    return rows(lister({.graphs = 10, .shuffle = true, .seed = seed}).list(epoch));
  };
  EXPECT_EQ(order(1, 0), order(1, 0));
  EXPECT_NE(order(1, 0), order(1, 1));
  EXPECT_NE(order(1, 0), order(2, 0));
}

TEST_F(BatchListing, RanksShareAnEpochWithoutOverlapInEqualSteps) {
  for (const bool drop_last : {false, true})
    for (const int64_t nodes : {int64_t{11}, Batching::kNoLimit})
      for (int64_t ranks = 1; ranks <= 11; ++ranks) {
        const BatchLister all =
            lister({.graphs = 2, .nodes = nodes, .drop_last = drop_last, .shuffle = true});
        const int64_t steps = all.list(3, {0, ranks}).size();
        std::multiset<int64_t> seen;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          const BatchList list = all.list(3, {rank, ranks});
          EXPECT_EQ(list.size(), steps);
          for (int64_t b = 0; b < list.size(); ++b) seen.insert(list[b].begin(), list[b].end());
        }
        if (drop_last)
          for (const int64_t graph : seen) EXPECT_EQ(seen.count(graph), 1U);
        else
          for (int64_t graph = 0; graph < 10; ++graph) EXPECT_GE(seen.count(graph), 1U);
      }
  // The order is that of torch's DistributedSampler.
  EXPECT_THAT(rows(lister({.graphs = 2}).list(0, {1, 4})), ElementsAre(ElementsAre(1, 5), ElementsAre(9)));
  EXPECT_THAT(rows(lister({.graphs = 2}).list(0, {3, 4})), ElementsAre(ElementsAre(3, 7), ElementsAre(1)));
}

TEST_F(BatchListing, RefusesGraphsThatTheSetHasNot) {
  const std::vector<int64_t> graphs = {3, 10};
  EXPECT_THAT(error_text<UsageError>([&] { BatchLister(*set_, fields_, graphs, {}); }),
              HasSubstr("graph 10"));
}

}  // namespace
}  // namespace plimsoll
