#include "io/arrow_overflow.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"

namespace plimsoll {
namespace {

TEST(ArrowOverflow, GivesMemoryOfAFileAndUsesItAgain) {
  ASSERT_EQ(ArrowOverflow::current(), nullptr);
  const std::filesystem::path here = std::filesystem::current_path();
  if (ScratchFile::is_in_memory(here)) GTEST_SKIP() << here << " is in memory";
  {
    ArrowOverflow overflow(here);
    EXPECT_EQ(ArrowOverflow::current(), &overflow);
    void* const first = overflow.allocate(5000);
    void* const second = overflow.allocate(5000);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    std::memset(first, 1, 5000);
    std::memset(second, 2, 5000);
    EXPECT_EQ(static_cast<char*>(first)[4999], 1);
    EXPECT_TRUE(overflow.has(second));
    EXPECT_FALSE(overflow.has(&overflow));
    overflow.release(first, 5000);
    EXPECT_EQ(overflow.allocate(8192), first);  // A piece of the same power of 2.
  }
  EXPECT_EQ(ArrowOverflow::current(), nullptr);
}

TEST(ArrowOverflow, RefusesAFolderInMemory) {
  if (!ScratchFile::is_in_memory("/dev/shm")) GTEST_SKIP() << "/dev/shm is not in memory";
  EXPECT_THROW(ArrowOverflow("/dev/shm"), Failure);
}

}  // namespace
}  // namespace plimsoll
