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
  EXPECT_EQ(&find_task("node_classification"), &find_task("node_classification"));
  std::set<const Task*> tasks;
  for (const std::string_view name : task_names()) tasks.insert(&find_task(name));
  EXPECT_EQ(tasks.size(), task_names().size()) << "each name has a task of its own";
}

TEST(KnownTasks, OneThatAProgramDoesNotHaveIsRefused) {
  register_tasks({});
  EXPECT_EQ(error_text<UsageError>([] { find_task("link_prediction"); }),
            "task 'link_prediction' is unknown");
  register_known_tasks();
}

}  // namespace
}  // namespace plimsoll
