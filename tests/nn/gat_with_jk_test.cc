#include "nn/gat_with_jk.h"

#include <gtest/gtest.h>

#include "base/error.h"

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
  EXPECT_EQ(
      GATWithJK({.num_ids = 30, .embedding = 16, .layers = 3, .hidden = 48, .heads = 8, .fc_layers = 1}, 0)
          .parameters()
          .count(),
      311'138);
  // The teacher of the older runs has 14.26 M parameters.
  const MetaParameters without_data;
  EXPECT_EQ(GATWithJK({.embedding = 32, .layers = 5, .hidden = 64, .heads = 8, .fc_layers = 3}, 0)
                .parameters()
                .count(),
            14'260'770);
}

TEST(GATWithJK, WeightsFollowTheSeedAlone) {
  EXPECT_EQ(GATWithJK({}, 1).parameters().hash(), GATWithJK({}, 1).parameters().hash());
  EXPECT_NE(GATWithJK({}, 1).parameters().hash(), GATWithJK({}, 2).parameters().hash());
}

TEST(GATWithJK, LstmNeedsAChannelInEachDirection) {
  EXPECT_THROW(GATWithJK({.layers = 1, .hidden = 1, .heads = 1, .jk = JkMode::lstm}, 0), UsageError);
  EXPECT_NO_THROW(GATWithJK({.attention = AttentionKind::gatv2, .jk = JkMode::lstm}, 0));
}

}  // namespace
}  // namespace plimsoll
