#include "config/foreign_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ForeignNames, AreFoundInAnySectionWithDashesToo) {
  for (const char* name : {"lr", "training.lr", "a.b.lr"})
    EXPECT_THAT(instead_of(name), StartsWith("training.learning_rate")) << name;
  EXPECT_EQ(instead_of("num-workers"), "--threads");
  EXPECT_EQ(instead_of("learning_rate"), "");
  EXPECT_EQ(instead_of(""), "");
  EXPECT_EQ(instead_of("lr."), "");
}

TEST(ForeignNames, MayDependOnTheValue) {
  EXPECT_EQ(instead_of("mode", "autoencoder"), "task: autoencoder");
  EXPECT_THAT(instead_of("mode", "anything"), StartsWith("task: autoencoder, detection"));
  EXPECT_EQ(instead_of("mode"), instead_of("mode", "anything"));
}

TEST(ForeignNames, OfASectionHoldForAllItsKeys) {
  const std::string_view fusion = instead_of("fusion");
  EXPECT_THAT(std::string(fusion), HasSubstr("fuse the scores"));
  EXPECT_EQ(instead_of("fusion.lr"), fusion) << "not the learning rate";
  EXPECT_EQ(instead_of("dqn.batch_size"), instead_of("dqn"));
  EXPECT_EQ(instead_of("fusions.x"), "");
}

TEST(KeysCalled, AreThoseOfAllSectionsButTeachers) {
  EXPECT_EQ(keys_called("max_epochs"), "training.max_epochs or fine_tuning.max_epochs");
  EXPECT_EQ(keys_called("heads"), "gat.heads or vgae.heads or gnn.heads");
  EXPECT_EQ(keys_called("gradient-checkpointing"), "training.gradient_checkpointing");
  EXPECT_EQ(keys_called("seed"), "seed");
  EXPECT_EQ(keys_called("eads"), "");
}

}  // namespace
}  // namespace plimsoll
