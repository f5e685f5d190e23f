#include "sample/block/feature_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/errors.h"
#include "support/random_graphs.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// RandomGraphs with names: nodes id_index, n1 .. n9, both; edges e0 .. e9, both.
class NamedGraphs : public RandomGraphs {
 public:
  NamedGraphs() : RandomGraphs(20, 5, 1) {
    for (int k = 0; k < 10; ++k) {
      tables_.node_features.push_back(k == 0 ? "id_index" : "n" + std::to_string(k));
      tables_.edge_features.push_back("e" + std::to_string(k));
    }
    for (auto* names : {&tables_.node_features, &tables_.edge_features}) names->push_back("both");
  }
  const GraphSetTables& tables() const override { return tables_; }

 private:
  GraphSetTables tables_;
};

FeatureSelection without(const std::vector<std::string>& names) {
  return {std::make_unique<NamedGraphs>(), names};
}

const std::vector<int64_t> kWanted = {7, 5, 3, 7};

TEST(FeatureSelection, GivesTheColumnsThatStayOfTheSameGraphs) {
  GraphBlock whole;
  GraphBlock part;
  NamedGraphs().read(kWanted, whole);
  const FeatureSelection source = without({"n1", "n9", "both", "e0"});
  ASSERT_EQ(source.node_features(), 8);
  ASSERT_EQ(source.edge_features(), 9);
  EXPECT_THAT(source.tables().node_features,
              ElementsAre("id_index", "n2", "n3", "n4", "n5", "n6", "n7", "n8"));
  EXPECT_EQ(source.tables().edge_features.front(), "e1");
  source.read(kWanted, part);
  ASSERT_EQ(part.nodes(), whole.nodes());
  ASSERT_EQ(part.x.size(), static_cast<size_t>(whole.nodes() * 8));
  for (size_t n = 0; n < static_cast<size_t>(whole.nodes()); ++n) {
    EXPECT_EQ(part.x[n * 8], whole.x[n * 11]);
    for (size_t k = 1; k < 8; ++k) EXPECT_EQ(part.x[n * 8 + k], whole.x[n * 11 + k + 1]);
  }
  EXPECT_EQ(part.edge_attr.size(), static_cast<size_t>(whole.edge_count() * 9));
  EXPECT_EQ(part.edges, whole.edges);
  EXPECT_EQ(part.y, whole.y);
  EXPECT_EQ(part.graph, whole.graph);
}

TEST(FeatureSelection, TheIdStaysAndTellsNothing) {
  GraphBlock whole;
  GraphBlock part;
  NamedGraphs().read(kWanted, whole);
  const FeatureSelection source = without({"id_index"});
  source.read(kWanted, part);
  ASSERT_EQ(source.node_features(), 11);
  for (size_t i = 0; i < whole.x.size(); ++i) EXPECT_EQ(part.x[i], i % 11 == 0 ? 0 : whole.x[i]);
  EXPECT_EQ(source.tables().node_features.front(), "id_index");
  EXPECT_EQ(part.edge_attr, whole.edge_attr);
}

TEST(FeatureSelection, EdgesMayKeepNone) {
  const FeatureSelection source =
      without({"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9", "both"});
  GraphBlock block;
  source.read(kWanted, block);
  EXPECT_EQ(source.edge_features(), 0);
  EXPECT_TRUE(block.edge_attr.empty());
}

TEST(FeatureSelection, WithItsRoomABlockTakesNoMore) {
  const FeatureSelection source = without({"n1", "n2", "e3"});
  const auto shapes = read_shapes(source, 1);
  BlockSize size;
  for (const int64_t g : kWanted) size.add(shapes[static_cast<size_t>(g)]);
  GraphBlock block;
  block.make_room(size, source.room());
  const int64_t before = Ledger::process().held();
  const float* const x = block.x.data();
  source.read(kWanted, block);
  EXPECT_EQ(block.x.data(), x);
  EXPECT_EQ(Ledger::process().held(), before);
}

TEST(FeatureSelection, WhatIsNotThereIsRefusedWithWhatIs) {
  EXPECT_THAT(error_text<UsageError>([] {
                without({"n1", "n10"});
              }),
              testing::AllOf(HasSubstr("'n10'"), HasSubstr("id_index, n1, n2"), HasSubstr("e0, e1")));
  EXPECT_THROW(FeatureSelection(std::make_unique<RandomGraphs>(3, 5, 1), {"n1"}), UsageError);
}

}  // namespace
}  // namespace plimsoll
