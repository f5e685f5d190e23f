#include "loader/neighbour_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <numeric>
#include <vector>

#include "memory/ledger.h"
#include "support/errors.h"
#include "support/giant_graph.h"
#include "support/ledger_cap.h"
#include "support/rewrite_columns.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr int64_t kNodes = 500;
constexpr int64_t kFeatures = 512;  // Rows are so wide that a small cache holds only a few.
constexpr int64_t kBatch = 60;

class NeighbourBatchesTest : public testing::Test {
 protected:
  NeighbourBatchesTest() {
    GraphWriter writer(folder_ / "graph", false);
    writer.append_row_ends(std::span(lists_.indptr).subspan(1));
    writer.append_indices(std::vector<uint32_t>(lists_.indices.begin(), lists_.indices.end()));
    for (int64_t v = 0; v < kNodes; ++v) {
      std::vector<float> row(kFeatures, static_cast<float>(v) + 0.25F);
      row.front() = static_cast<float>(v);
      row.back() = static_cast<float>(-v);
      writer.append_x(row, kFeatures);
    }
    std::vector<int64_t> y(kNodes);
    std::iota(y.begin(), y.end(), 0);
    writer.append_y(y);
    std::vector<std::string> names;
    for (int64_t f = 0; f < kFeatures; ++f) names.push_back(fmt::format("f{}", f));
    writer.publish({.classes = kNodes, .node_features = names}, Json::object());
    graph_ = std::make_shared<const GraphView>(folder_ / "graph");
  }

  std::shared_ptr<LoadedGraph> source(NeighbourLoading loading = {}, int64_t cache_bytes = 0,
                                      std::optional<std::vector<int64_t>> seeds = {}) const {
    loading.sampling.fan_outs = {4, 3};
    loading.batching = {.batch_size = kBatch, .shuffle = true, .seed = 9};
    loading.cache_bytes = cache_bytes;
    std::optional<std::span<const int64_t>> nodes;
    if (seeds) nodes = *seeds;
    return std::make_shared<LoadedGraph>(graph_, nodes, loading);
  }
  // Bytes of a cache with `rows` rows more than the minimum.
  int64_t cache(int64_t rows) const {
    const RowLayout layout = FeatureFile::column(graph_->set(), "x").layout();
    return SharedScan::min_bytes(layout) + rows * (layout.row_bytes + 2 * SharedScan::kRowBytes);
  }
  NeighbourBatches batches(std::shared_ptr<LoadedGraph> graph) const {
    return {std::move(graph), 1, {}, memory_};
  }

  // All tensors of a batch except the floats, which must be those of n_id.
  static std::vector<std::vector<int64_t>> contents(CollatedBatch batch, const NeighbourFields& fields) {
    std::vector<std::vector<int64_t>> columns;
    const std::vector<int64_t> bytes = fields.bytes(batch.counts);
    for (int i = 0; i < NeighbourFields::kCount; ++i) {
      const auto field = static_cast<NeighbourField>(i);
      const auto* const first = batch[field].as<int64_t>();
      if (fields.has(field) && !NeighbourFields::is_float(field))
        columns.emplace_back(first, first + bytes[static_cast<size_t>(i)] / 8);
    }
    const auto* const x = batch[NeighbourField::x].as<float>();
    const auto* const n_id = batch[NeighbourField::n_id].as<int64_t>();
    const auto* const y = batch[NeighbourField::y].as<int64_t>();
    for (int64_t i = 0; i < batch.counts.nodes; ++i) {
      EXPECT_EQ(y[i], n_id[i]);
      EXPECT_EQ(x[kFeatures * i], static_cast<float>(n_id[i]));
      EXPECT_EQ(x[kFeatures * (i + 1) - 1], -static_cast<float>(n_id[i]));
    }
    return columns;
  }

  TempFolder folder_;
  GiantGraph lists_ = skewed_graph(kNodes, 5);
  std::shared_ptr<const GraphView> graph_;
  std::shared_ptr<BatchMemory> memory_ = BatchMemory::make();
};

TEST_F(NeighbourBatchesTest, AreTheSameInAnyOrderAndWithAnyCache) {
  for (const bool disjoint : {false, true}) {
    NeighbourLoading loading;
    loading.sampling.disjoint = disjoint;
    std::vector<std::vector<std::vector<int64_t>>> expected;
    NeighbourBatches plain = batches(source(loading));
    for (int64_t i = 0; i < plain.size(); ++i)
      expected.push_back(contents(plain.make(i), {*graph_, loading.sampling}));
    EXPECT_EQ(plain.size(), (kNodes + kBatch - 1) / kBatch);
    for (const int64_t cache_bytes : {cache(0), cache(100), cache(250), cache(kNodes)})
      for (const int64_t horizon : {0, 2, 50}) {
        NeighbourLoading cached = loading;
        cached.horizon = horizon;
        NeighbourBatches made = batches(source(cached, cache_bytes));
        for (const int64_t i : {0, 1, 2, 1, 1, 2, 3, 7, 8, 0})
          EXPECT_EQ(contents(made.make(i), {*graph_, loading.sampling}), expected[static_cast<size_t>(i)]);
      }
  }
}

TEST_F(NeighbourBatchesTest, ARowIsReadOnceForAllBatchesThatAreKnown) {
  const auto missed = [&](int64_t cache_bytes) {
    const auto shared = source({}, cache_bytes);
    for (int epoch = 0; epoch < 2; ++epoch) {
      NeighbourBatches made = batches(shared);
      for (int64_t i = 0; i < made.size(); ++i) made.make(i);
    }
    return shared->rows()->counters().misses;
  };
  EXPECT_EQ(missed(cache(2 * kNodes)), kNodes);
  EXPECT_GT(missed(cache(300)), kNodes);
  EXPECT_GT(missed(cache(0)), missed(cache(300)));
}

TEST_F(NeighbourBatchesTest, GoesWithoutAPlanWhereMemoryIsShort) {
  const auto shared = source({}, cache(250));
  NeighbourBatches made = batches(shared);
  const auto expected = contents(made.make(0), shared->fields());
  for (const int64_t free : {0, 20'000, 60'000, 200'000, 4'000'000}) {
    NeighbourBatches again = batches(shared);
    const LedgerCap cap(free);
    try {
      EXPECT_EQ(contents(again.make(0), shared->fields()), expected);
    } catch (const BudgetExceeded&) {
      EXPECT_LT(free, 4'000'000);
    }
  }
}

TEST_F(NeighbourBatchesTest, WhatIsSampledAheadGivesWay) {
  const auto shared = source({}, int64_t{8} << 20);
  NeighbourBatches made = batches(shared);
  const auto expected = contents(made.make(0), shared->fields());
  for (int64_t i = 1; i < 3; ++i) made.make(i);
  const int64_t held = Ledger::process().held();
  made.give_up();
  const int64_t freed = held - Ledger::process().held();
  EXPECT_GT(freed, 5 * kBatch * 17 * 8);
  EXPECT_EQ(contents(made.make(0), shared->fields()), expected);

  // If all samples are kept, there is no space for tensors; with fewer, there is.
  const int64_t tensors = made.make(1).bytes();
  for (int64_t i = 2; i < 4; ++i) made.make(i);
  made.give_up();
  const LedgerCap cap(freed / 2 + 2 * tensors);
  EXPECT_EQ(contents(made.make(0), shared->fields()), expected);
  EXPECT_LE(Ledger::process().held() - (held - freed), freed / 2 + 2 * tensors);
}

TEST_F(NeighbourBatchesTest, EpochsOfOneCacheTakeTurns) {
  const auto shared = source({}, cache(300));
  NeighbourBatches one = batches(shared);
  NeighbourBatches two = batches(shared);
  for (int64_t i = 0; i < one.size(); ++i)
    EXPECT_EQ(contents(one.make(i), shared->fields()), contents(two.make(i), shared->fields()));
}

TEST_F(NeighbourBatchesTest, ColumnsLieWhereTheManifestSays) {
  const auto expected = contents(batches(source()).make(0), source()->fields());
  rewrite_columns(folder_ / "graph");
  graph_ = std::make_shared<const GraphView>(folder_ / "graph");
  const auto shared = source({}, cache(250));
  EXPECT_EQ(contents(batches(shared).make(0), shared->fields()), expected);
}

TEST_F(NeighbourBatchesTest, ADataSetThatWasReplacedIsNotReadByItsName) {
  std::filesystem::rename(folder_ / "graph", folder_ / "old");
  std::filesystem::copy(folder_ / "old", folder_ / "graph");
  const auto shared = source();
  EXPECT_NO_THROW(batches(shared).make(0)) << "what is mapped stays";
  EXPECT_THAT(error_text<InputError>([&] { source({}, cache(250)); }), HasSubstr("has been replaced"));
}

TEST_F(NeighbourBatchesTest, RefusesWhatItCannotSample) {
  EXPECT_THAT(error_text<UsageError>([&] {
                source({}, 0, std::vector<int64_t>{3, kNodes});
              }),
              HasSubstr("node 500 of 500"));
  NeighbourLoading weighted;
  weighted.sampling.weighted = true;
  EXPECT_THAT(error_text<UsageError>([&] { source(weighted); }), HasSubstr("weights"));
  EXPECT_THAT(error_text<UsageError>([&] { source({}, 10); }), HasSubstr("cache_bytes: found 10 B"));
  EXPECT_THAT(error_text<UsageError>([] { parse_word<SubgraphType>("both", "subgraph_type"); }),
              HasSubstr("subgraph_type: found 'both', expected directional, bidirectional or induced"));
  NeighbourBatches twice = batches(source({}, 0, std::vector<int64_t>{3, 3}));
  EXPECT_THAT(error_text<UsageError>([&] { twice.make(0); }), HasSubstr("occurs twice"));
}

TEST_F(NeighbourBatchesTest, AChildOfForkLeavesTheCacheBehind) {
  auto shared = source({}, cache(250));
  batches(shared).make(0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    shared.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SeedList, CutsAndShares) {
  const auto numbers = [](const BatchList& list) {
    return std::vector<int64_t>(list.graphs.begin(), list.graphs.end());
  };
  EXPECT_THAT(numbers(list_seeds(5, {.batch_size = 2}, 0, {})), ElementsAreArray({0, 1, 2, 3, 4}));
  EXPECT_EQ(list_seeds(5, {.batch_size = 2}, 0, {}).size(), 3);
  EXPECT_EQ(list_seeds(5, {.batch_size = 2, .drop_last = true}, 0, {}).size(), 2);
  EXPECT_THAT(numbers(list_seeds(5, {.batch_size = 2}, 0, {1, 2})), ElementsAreArray({1, 3, 0}));
  EXPECT_THAT(numbers(list_seeds(5, {.batch_size = 2, .drop_last = true}, 0, {1, 2})),
              ElementsAreArray({1, 3}));
  EXPECT_EQ(list_seeds(0, {.batch_size = 2}, 0, {}).size(), 0);
  const SeedBatching all{.batch_size = std::numeric_limits<int64_t>::max()};
  EXPECT_EQ(count_batches(5, all, {}), 1);
  EXPECT_EQ(list_seeds(5, all, 0, {}).size(), 1);
  for (const bool drop_last : {false, true})
    for (int64_t count = 0; count < 20; ++count) {
      const SeedBatching batching{.batch_size = 3, .drop_last = drop_last};
      EXPECT_EQ(list_seeds(count, batching, 0, {1, 2}).size(), count_batches(count, batching, {1, 2}));
    }
  EXPECT_NE(numbers(list_seeds(50, {.shuffle = true}, 0, {})),
            numbers(list_seeds(50, {.shuffle = true}, 1, {})));
}

}  // namespace
}  // namespace plimsoll
