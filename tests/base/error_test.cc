#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace plimsoll {
namespace {

TEST(Error, EachKindHasItsExitCodeAndText) {
  EXPECT_EQ(Failure("f").exit_code(), 1);
  EXPECT_EQ(UsageError("u").exit_code(), 2);
  EXPECT_EQ(InputError("i").exit_code(), 3);
  EXPECT_STREQ(InputError("what, expected, remedy").what(), "what, expected, remedy");
}

TEST(Error, IsCaughtByCodeThatKnowsOnlyTheStandardLibrary) {
  EXPECT_THROW(throw UsageError("text"), std::runtime_error);
}

TEST(SystemFailure, NamesTheCallThePathAndTheReason) {
  errno = ENOENT;
  EXPECT_STREQ(system_failure("cannot open", "a.npy").what(), "cannot open a.npy: No such file or directory");
}

}  // namespace
}  // namespace plimsoll
