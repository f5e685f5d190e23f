#include "ingest/graph/split_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace plimsoll {
namespace {

TEST(SplitSizes, CountsNodesOfSeveralSplitsOnce) {
  const TempFolder folder;
  GraphWriter writer(folder.path() / "graph", false);
  const std::vector<int64_t> ends(6, 0);
  writer.append_row_ends(ends);
  writer.append_split(0, std::vector<int64_t>{0, 1, 2, 5});
  writer.append_split(1, std::vector<int64_t>{1, 3, 5});
  writer.append_split(2, std::vector<int64_t>{5});
  writer.publish({}, Json::object());
  const SplitSizes sizes = split_sizes(GraphView(folder.path() / "graph"));
  EXPECT_THAT(sizes.nodes, testing::ElementsAre(4, 3, 1));
  EXPECT_EQ(sizes.overlapping, 2);
}

}  // namespace
}  // namespace plimsoll
