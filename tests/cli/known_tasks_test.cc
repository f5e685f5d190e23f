#include "cli/known_tasks.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "run/task.h"

namespace plimsoll {
namespace {

// All tests of this program run on known tasks.
const bool kRegistered = (register_known_tasks(), true);

TEST(KnownTasks, HaveTheNamesOfRecipes) {
  ASSERT_TRUE(kRegistered);
  EXPECT_EQ(&find_task("node_classification"), &find_task("node_classification"));
  EXPECT_NE(&find_task("node_classification"), &find_task("graph_classification"));
  EXPECT_THROW(find_task("tree"), UsageError);
}

}  // namespace
}  // namespace plimsoll
