#include "engine/plan/blas_memory.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <thread>

namespace plimsoll {
namespace {

TEST(BlasMemory, RoomsAreAsManyAsProductsAtOnceWhateverTheThreadsAndSizes) {
  watch_blas_memory();
  if (!blas_bytes()) GTEST_SKIP() << "the library that multiplies does not say what it holds";
  at::set_num_threads(1);
  const auto multiply = [] {
    for (int64_t size = 96; size <= 768; size += 96) at::mm(at::ones({size, size}), at::ones({size, size}));
  };
  multiply();
  const int64_t first_bytes = *blas_bytes();
  for (int i = 0; i < 3; ++i)
    std::thread([&] {
      at::init_num_threads();
      multiply();
      EXPECT_EQ(*blas_bytes(), first_bytes);
    }).join();
}

}  // namespace
}  // namespace plimsoll
