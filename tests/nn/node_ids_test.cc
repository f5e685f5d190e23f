#include "nn/node_ids.h"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "base/error.h"

namespace plimsoll {
namespace {

Batch batch_of(const std::vector<uint32_t>& numbers) {
  Batch batch;
  batch.x = at::empty({static_cast<int64_t>(numbers.size()), 1}, at::kFloat);
  for (size_t i = 0; i < numbers.size(); ++i) batch.x.data_ptr<float>()[i] = std::bit_cast<float>(numbers[i]);
  return batch;
}

// The bits of some of these are those of a NaN, of a denormal number or of an infinity.
TEST(NodeNumbers, AllBitsReachTheModel) {
  const std::vector<uint32_t> numbers = {0,          1,          (1U << 24) + 1, 0x7F800000,
                                         0x7FA00001, 0xFF800001, 0xFFFFFFFE};
  const at::Tensor found = node_numbers(batch_of(numbers), (int64_t{1} << 32) - 1);
  ASSERT_EQ(found.numel(), std::ssize(numbers));
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(found.const_data_ptr<int64_t>()[i], numbers[i]);
}

TEST(NodeNumbers, ANumberOutOfRangeIsNamed) {
  EXPECT_THAT(
      [] {
        node_numbers(batch_of({3, 7}), 7);
      },
      testing::ThrowsMessage<InputError>(
          testing::HasSubstr("node 1 has the number 7, expected one from 0 to 6")));
}

}  // namespace
}  // namespace plimsoll
