#include "engine/data/column_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ColumnFileTest : public testing::Test {
 protected:
  void write(const std::vector<float>& values) {
    column_.write(key_, 2, [&](NpyWriter& writer) { writer.append(std::span<const float>(values)); });
  }
  TempFolder folder_;
  ColumnFile column_{folder_.path(), "difficulty"};
  const ColumnKey key_{"weights1", "data1", "settings1"};
};

TEST_F(ColumnFileTest, IsReadBackUnderTheSameKey) {
  EXPECT_FALSE(column_.open(key_));
  write({1, 2, 3, 4});
  const auto column = column_.open(key_);
  ASSERT_TRUE(column);
  EXPECT_EQ(column->shape().shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(column->values<float>()[3], 4);
}

TEST_F(ColumnFileTest, AStaleOneIsRefusedWithTheReason) {
  write({1, 2});
  EXPECT_THAT(error_text<InputError>([&] {
                column_.open({"weights2", "data1", "settings1"});
              }),
              AllOf(HasSubstr("difficulty.npy: stale"), HasSubstr("a model of weights weights1"),
                    HasSubstr("this run has weights2"), HasSubstr("delete the file")));
  EXPECT_THAT(error_text<InputError>([&] {
                column_.open({"weights1", "data2", "settings1"});
              }),
              HasSubstr("data data1"));
  EXPECT_THAT(error_text<InputError>([&] {
                column_.open({"weights1", "data1", "settings2"});
              }),
              HasSubstr("settings settings1"));
}

TEST_F(ColumnFileTest, ADamagedOneIsRefused) {
  write({1, 2});
  std::fstream file(column_.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kNpyDataOffset);
  file.put('x');
  file.close();
  EXPECT_THAT(error_text<InputError>([&] { column_.open(key_); }), HasSubstr("damaged"));
}

TEST_F(ColumnFileTest, OneThatWasNotFinishedIsNone) {
  EXPECT_THROW(column_.write(key_, 2,
                             [](NpyWriter& writer) {
                               const std::vector<float> row = {1, 2};
                               writer.append(std::span<const float>(row));
                               throw Failure("stopped");
                             }),
               Failure);
  EXPECT_FALSE(column_.open(key_));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace plimsoll
