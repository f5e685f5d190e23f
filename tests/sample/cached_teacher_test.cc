#include "sample/block/cached_teacher.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "support/errors.h"
#include "support/random_graphs.h"

namespace plimsoll {
namespace {

class CachedTeacherTest : public testing::Test {
 protected:
  CachedTeacherTest() : shapes_(read_shapes(graphs_, 1)) {}

  int64_t nodes_of(const GraphList& list) const {
    int64_t nodes = 0;
    for (const int64_t g : list) nodes += shapes_[static_cast<size_t>(g)].nodes;
    return nodes;
  }

  RandomGraphs graphs_{8, 20, 1};
  Vector<GraphShape, Tag::columns> shapes_;
  const GraphList list_{1, 2, 5, 7};
};

TEST_F(CachedTeacherTest, RowsOfGraphsComeInTheOrderAskedFor) {
  const std::vector<float> rows = {10, 11, 20, 21, 50, 51, 70, 71};
  const CachedTeacher source(graphs_, {.values = rows, .width = 2}, list_, shapes_);
  EXPECT_EQ(source.widths().teacher.width, 2);
  GraphBlock block;
  source.read(GraphList{7, 1}, block);
  EXPECT_EQ(std::vector<float>(block.teacher.begin(), block.teacher.end()),
            (std::vector<float>{70, 71, 10, 11}));
  GraphBlock plain;
  graphs_.read(GraphList{7, 1}, plain);
  EXPECT_EQ(block.x, plain.x);
  EXPECT_EQ(block.edges, plain.edges);
}

TEST_F(CachedTeacherTest, RowsOfNodesFollowTheirGraphs) {
  std::vector<float> rows(static_cast<size_t>(3 * nodes_of(list_)));
  std::iota(rows.begin(), rows.end(), 0.0F);
  const CachedTeacher source(graphs_, {.values = rows, .width = 3, .of_nodes = true}, list_, shapes_);
  GraphBlock block;
  source.read(GraphList{5, 2}, block);
  const int64_t first_of_2 = 3 * nodes_of({1});
  const int64_t first_of_5 = 3 * nodes_of({1, 2});
  ASSERT_EQ(block.teacher.size(), static_cast<size_t>(3 * nodes_of({2, 5})));
  EXPECT_EQ(block.teacher.front(), static_cast<float>(first_of_5));
  EXPECT_EQ(block.teacher.back(), static_cast<float>(first_of_2 + 3 * nodes_of({2}) - 1));
}

TEST_F(CachedTeacherTest, WithoutValuesThereAreZerosForPlanning) {
  const CachedTeacher source(graphs_, {.values = {}, .width = 4}, list_, shapes_);
  GraphBlock block;
  source.read(GraphList{1, 2}, block);
  EXPECT_EQ(block.teacher, (Vector<float, Tag::blocks>(8, 0.0F)));
}

TEST_F(CachedTeacherTest, GraphsThatAreNotThereAndColumnsOfAnotherLengthAreRefused) {
  const std::vector<float> rows(8);
  const CachedTeacher source(graphs_, {.values = rows, .width = 2}, list_, shapes_);
  GraphBlock block;
  EXPECT_NE(error_text<Failure>([&] { source.read(GraphList{3}, block); }).find("graph 3"),
            std::string::npos);
  EXPECT_THROW(CachedTeacher(graphs_, {.values = rows, .width = 3}, list_, shapes_), InputError);
}

TEST_F(CachedTeacherTest, BytesForCountsItsRows) {
  const CachedTeacher source(graphs_, {.values = {}, .width = 4, .of_nodes = true}, list_, shapes_);
  const BlockSize size{2, 30, 40};
  EXPECT_EQ(GraphBlock::bytes_for(size, source.widths()),
            GraphBlock::bytes_for(size, graphs_.widths()) + 30 * 4 * 4);
}

}  // namespace
}  // namespace plimsoll
