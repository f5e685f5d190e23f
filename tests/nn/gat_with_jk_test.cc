#include "nn/gat_with_jk.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

// Parameter counts of the published presets at 2,049 IDs. Outputs and gradients are compared with PyG in
// tests/python.
TEST(GATWithJK, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(GATWithJK({}, 0).parameters().count(), 65'354);
  EXPECT_EQ(GATWithJK({.embedding = 16, .layers = 3, .hidden = 48, .heads = 8, .fc_layers = 1}, 0)
                .parameters()
                .count(),
            343'442);
  EXPECT_EQ(GATWithJK({.num_ids = 30}, 0).parameters().count(), 49'202);
}

TEST(GATWithJK, WeightsFollowTheSeedAlone) {
  EXPECT_EQ(GATWithJK({}, 1).parameters().hash(), GATWithJK({}, 1).parameters().hash());
  EXPECT_NE(GATWithJK({}, 1).parameters().hash(), GATWithJK({}, 2).parameters().hash());
}

}  // namespace
}  // namespace plimsoll
