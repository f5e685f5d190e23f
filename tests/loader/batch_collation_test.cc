#include "loader/batch_collation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loader/loader_set.h"
#include "memory/ledger.h"
#include "support/errors.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Graph 0 has 2 nodes and 2 edges, graph 1 has 1 and none, graph 2 has 3 and 1.
GraphColumns three_graphs() {
  GraphColumns columns;
  columns.node_ptr = {0, 2, 3, 6};
  columns.edge_ptr = {0, 2, 2, 3};
  for (int i = 0; i < 6 * 3; ++i) columns.x.push_back(static_cast<float>(i));
  columns.edges = {0, 1, 1, 1, 2, 0};
  columns.edge_attr = {0, 1, 2, 3, 4, 5};
  columns.y = {5, -7, 9};
  return columns;
}

template <typename T>
std::vector<T> values(CollatedBatch& batch, BatchField field, size_t count) {
  const T* const first = batch[field].as<T>();
  return {first, first + count};
}

TEST(BatchCollation, LaysGraphsBehindEachOther) {
  const LoaderSet files(three_graphs());
  const auto set = files.open();
  const std::vector<int64_t> graphs = {2, 1, 0, 2};
  CollatedBatch batch = collate(*set, BatchFields(*set), graphs, *BatchMemory::make());
  EXPECT_EQ(batch.counts.graphs, 4);
  EXPECT_EQ(batch.counts.nodes, 9);
  EXPECT_EQ(batch.counts.edges, 4);
  EXPECT_THAT(values<int64_t>(batch, BatchField::edge_index, 8), ElementsAre(2, 4, 5, 8, 0, 5, 5, 6));
  EXPECT_THAT(values<float>(batch, BatchField::edge_attr, 8), ElementsAre(4, 5, 0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values<float>(batch, BatchField::x, 12),
              ElementsAre(9, 10, 11, 12, 13, 14, 15, 16, 17, 6, 7, 8));
  EXPECT_THAT(values<int64_t>(batch, BatchField::y, 4), ElementsAre(9, -7, 5, 9));
  EXPECT_THAT(values<int64_t>(batch, BatchField::batch, 9), ElementsAre(0, 0, 0, 1, 2, 2, 3, 3, 3));
  EXPECT_THAT(values<int64_t>(batch, BatchField::ptr, 5), ElementsAre(0, 3, 4, 6, 9));
  EXPECT_THAT(values<int64_t>(batch, BatchField::edge_ptr, 5), ElementsAre(0, 1, 1, 3, 4));
}

TEST(BatchCollation, LeavesOutWhatIsNotWanted) {
  const LoaderSet files(three_graphs());
  const auto set = files.open();
  const BatchFields fields(*set, {"x", "edge_index", "y"});
  EXPECT_FALSE(fields.has(BatchField::x));
  EXPECT_FALSE(fields.has(BatchField::node_y));
  EXPECT_TRUE(fields.has(BatchField::edge_attr));
  const std::vector<int64_t> graphs = {0, 2};
  CollatedBatch batch = collate(*set, fields, graphs, *BatchMemory::make());
  EXPECT_THAT(values<int64_t>(batch, BatchField::ptr, 3), ElementsAre(0, 2, 5));
  EXPECT_EQ(fields.bytes(batch.counts), 4 * 2 * 3 + 8 * (5 + 3 + 3));
}

TEST(BatchCollation, RefusesEdgesAndPointersOutsideTheirGraph) {
  for (const int32_t end : {-1, 2, 1 << 30}) {
    GraphColumns columns = three_graphs();
    columns.edges[1] = end;
    const LoaderSet files(columns);
    const auto set = files.open();
    const std::vector<int64_t> bad = {2, 0};
    const auto memory = BatchMemory::make();
    EXPECT_THAT(error_text<InputError>([&] { collate(*set, BatchFields(*set), bad, *memory); }),
                HasSubstr("graph 0 points outside"));
    EXPECT_EQ(memory->ahead(), 0);
    const std::vector<int64_t> good = {2, 1};
    collate(*set, BatchFields(*set), good, *memory);
  }
  for (const auto& ends : {std::pair{-1, 3}, std::pair{7, 3}, std::pair{4, 3}}) {
    GraphColumns columns = three_graphs();
    columns.node_ptr[1] = ends.first;
    const LoaderSet files(columns);
    const auto set = files.open();
    const std::vector<int64_t> bad = {1};
    const auto memory = BatchMemory::make();
    EXPECT_THAT(error_text<InputError>([&] { collate(*set, BatchFields(*set), bad, *memory); }),
                HasSubstr("graph 1 points outside"));
  }
}

TEST(BatchCollation, EntersABatchInTheLedgerAsAWhole) {
  const LoaderSet files(4);
  const auto set = files.open();
  const BatchFields fields(*set);
  const auto memory = BatchMemory::make();
  const std::vector<int64_t> graphs = {0, 1, 2, 3};
  const int64_t before = Ledger::process().held(Tag::blocks);
  {
    const CollatedBatch batch = collate(*set, fields, graphs, *memory);
    const int64_t held = Ledger::process().held(Tag::blocks) - before;
    EXPECT_GE(held, fields.bytes(batch.counts));
    EXPECT_LE(held, fields.bytes(batch.counts) * 9 / 8 + 4096);
    const LedgerCap cap(held - 1);
    EXPECT_THROW(collate(*set, fields, graphs, *memory), BudgetExceeded);
    EXPECT_EQ(Ledger::process().held(Tag::blocks) - before, held);
  }
  EXPECT_EQ(Ledger::process().held(Tag::blocks), before);
}

}  // namespace
}  // namespace plimsoll
