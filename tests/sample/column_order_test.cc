#include "sample/block/column_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace plimsoll {
namespace {

using Names = std::vector<std::string>;

std::vector<float> ordered(const Names& expected, const Names& found, std::vector<float> rows) {
  ColumnOrder(expected, found, "node features").apply(rows);
  return rows;
}

TEST(ColumnOrder, ReadsColumnsByName) {
  EXPECT_THAT(ordered({"a", "b", "c"}, {"c", "a", "b"}, {3, 1, 2, 30, 10, 20}),
              testing::ElementsAre(1, 2, 3, 10, 20, 30));
  EXPECT_FALSE(ColumnOrder({"a", "b"}, {"a", "b"}, "node features").changes());
}

TEST(ColumnOrder, ColumnsWithoutNamesStay) {
  EXPECT_FALSE(ColumnOrder({}, {"a", "b"}, "node features").changes());
  EXPECT_FALSE(ColumnOrder({"a", "b"}, {"feature_0", "feature_1"}, "node features").changes());
  EXPECT_FALSE(are_numbers({"feature_1", "feature_0"}));
}

TEST(ColumnOrder, OtherNamesAreRefusedWithBothLists) {
  const auto refusal = [](const Names& expected, const Names& found) {
    try {
      ColumnOrder(expected, found, "edge features");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({"a", "b"}, {"a", "x"}), testing::HasSubstr("the edge features 'a', 'x', expected"));
  EXPECT_THAT(refusal({"a", "b"}, {"a", "a"}), testing::HasSubstr("'a', 'b'"));
  Names many;
  for (int i = 0; i < 20; ++i) many.push_back("n" + std::to_string(i));
  EXPECT_THAT(refusal(many, {"x"}), testing::HasSubstr("'n7' and 12 more"));
}

}  // namespace
}  // namespace plimsoll
