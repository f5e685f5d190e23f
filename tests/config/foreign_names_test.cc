#include "config/foreign_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace plimsoll {
namespace {

using testing::StartsWith;

TEST(ForeignNames, AreFoundInAnySectionWithDashesToo) {
  for (const char* name : {"lr", "training.lr", "a.b.lr"})
    EXPECT_THAT(instead_of(name), StartsWith("training.learning_rate")) << name;
  EXPECT_EQ(instead_of("num-workers"), "--threads");
  EXPECT_EQ(instead_of("learning_rate"), "");
  EXPECT_EQ(instead_of(""), "");
  EXPECT_EQ(instead_of("lr."), "");
}

// Names that another module adds.
TEST(ForeignNames, ThatAreAddedComeFirst) {
  static constexpr auto kAdded = std::to_array<ForeignName>({{"colour", "red", "no red"},
                                                             {"colour", "", "no colour"},
                                                             {"mmap", "", "not that"},
                                                             {"paint.", "", "no paint"}});
  register_foreign_names(kAdded);
  EXPECT_EQ(instead_of("colour", "red"), "no red");
  EXPECT_EQ(instead_of("colour", "blue"), "no colour");
  EXPECT_EQ(instead_of("colour"), "no colour");
  EXPECT_EQ(instead_of("mmap"), "not that");
  EXPECT_EQ(instead_of("paint"), "no paint");
  EXPECT_EQ(instead_of("paint.lr"), "no paint") << "not the learning rate";
  EXPECT_EQ(instead_of("paints.x"), "");
}

TEST(KeysCalled, AreThoseOfAllSections) {
  EXPECT_EQ(keys_called("max_epochs"), "training.max_epochs or fine_tuning.max_epochs");
  EXPECT_EQ(keys_called("layers"), "gnn.layers or paths.layers");
  EXPECT_EQ(keys_called("gradient-checkpointing"), "training.gradient_checkpointing");
  EXPECT_EQ(keys_called("seed"), "seed");
  EXPECT_EQ(keys_called("eads"), "");
}

}  // namespace
}  // namespace plimsoll
