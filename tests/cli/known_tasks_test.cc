#include "cli/known_tasks.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "run/task.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

// All tests of this program run on known tasks.
const bool kRegistered = (register_known_tasks(), true);

TEST(KnownTasks, HaveTheNamesOfRecipes) {
  ASSERT_TRUE(kRegistered);
  EXPECT_EQ(&find_task(TaskName::node_classification), &find_task(TaskName::node_classification));
  std::set<const Task*> tasks;
  for (size_t i = 0; i < kWords<TaskName>.size(); ++i) tasks.insert(&find_task(static_cast<TaskName>(i)));
  EXPECT_EQ(tasks.size(), kWords<TaskName>.size()) << "each name has a task of its own";
}

TEST(KnownTasks, OneThatAProgramDoesNotHaveIsRefused) {
  register_tasks({});
  EXPECT_EQ(error_text<UsageError>([] { find_task(TaskName::detection); }), "task 'detection' is unknown");
  register_known_tasks();
}

}  // namespace
}  // namespace plimsoll
