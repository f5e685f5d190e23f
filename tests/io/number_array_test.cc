#include "io/number_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
std::string bytes_of_numbers(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string npy_text(const std::string& dtype, const std::string& shape, const std::string& data,
                     const char* fortran = "False") {
  std::string header =
      "{'descr': '" + dtype + "', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }\n";
  const auto length = static_cast<char>(header.size());
  return std::string("\x93NUMPY\x01\x00", 8) + length + '\0' + header + data;
}

class ArrayOfNumbers : public testing::Test {
 protected:
  NumberArray open(const std::string& bytes, const RawArray& raw = {}) const {
    write_bytes(folder_ / "a.npy", bytes);
    return NumberArray(folder_ / "a.npy", raw);
  }
  TempFolder folder_;
};

TEST_F(ArrayOfNumbers, ReadsEveryTypeOfNumPy) {
  EXPECT_EQ(open(npy_text("|b1", "2,", std::string("\0\1", 2))).whole(1), 1);
  EXPECT_EQ(open(npy_text("|i1", "1,", "\xFE")).whole(0), -2);
  EXPECT_EQ(open(npy_text("|u1", "1,", "\xFE")).whole(0), 254);
  EXPECT_EQ(open(npy_text("<i2", "1,", bytes_of_numbers<int16_t>({-300}))).whole(0), -300);
  EXPECT_EQ(open(npy_text("<u2", "1,", bytes_of_numbers<uint16_t>({65000}))).whole(0), 65000);
  EXPECT_EQ(open(npy_text("<i4", "1,", bytes_of_numbers<int32_t>({-70000}))).whole(0), -70000);
  EXPECT_EQ(open(npy_text("<u4", "1,", bytes_of_numbers<uint32_t>({4000000000}))).whole(0), 4000000000);
  EXPECT_EQ(open(npy_text("<i8", "1,", bytes_of_numbers<int64_t>({-1}))).whole(0), -1);
  EXPECT_EQ(open(npy_text("<u8", "1,", bytes_of_numbers<uint64_t>({UINT64_MAX}))).whole(0), INT64_MAX);
  EXPECT_EQ(open(npy_text("<f2", "1,", std::string("\x00\x3E", 2))).real(0), 1.5);
  EXPECT_EQ(open(npy_text("<f4", "1,", bytes_of_numbers<float>({0.5F}))).real(0), 0.5);
  EXPECT_EQ(open(npy_text("<f8", "1,", bytes_of_numbers<double>({0.1}))).real(0), 0.1);
  EXPECT_THAT(error_text<InputError>([&] { open(npy_text(">f4", "1,", "abcd")); }), HasSubstr("astype()"));
  EXPECT_THAT(error_text<InputError>([&] { open(npy_text("<c8", "1,", "abcdefgh")); }), HasSubstr("'<c8'"));
}

TEST_F(ArrayOfNumbers, RowsAreTheSameInBothOrders) {
  std::vector<float> row(3);
  open(npy_text("<f8", "2, 3", bytes_of_numbers<double>({1, 2, 3, 4, 5, 6}))).copy_row(1, row);
  EXPECT_THAT(row, ElementsAre(4, 5, 6));
  open(npy_text("<f4", "2, 3", bytes_of_numbers<float>({1, 4, 2, 5, 3, 6}), "True")).copy_row(1, row);
  EXPECT_THAT(row, ElementsAre(4, 5, 6));
  open(npy_text("<f8", "1, 3", bytes_of_numbers<double>({1e300, -1e300, 0}))).copy_row(0, row);
  EXPECT_TRUE(std::isinf(row[0]));
}

TEST_F(ArrayOfNumbers, HasATypeAndAShapeFromOutsideIfItHasNoHeader) {
  const NumberArray array = open(bytes_of_numbers<float>({1, 2, 3, 4}), {.dtype = "f32", .shape = {2, 2}});
  EXPECT_EQ(array.real(1, 0), 3);
  EXPECT_THAT(error_text<InputError>([&] {
                open("abcd", {.dtype = "f32", .shape = {2, 2}});
              }),
              HasSubstr("found 4 bytes of data, expected 4 numbers of 4 bytes"));
  EXPECT_THAT(error_text<InputError>([&] {
                open("abcd", {.dtype = "u8", .shape = {1LL << 40, 1LL << 40}});
              }),
              HasSubstr("found 4 bytes"));
  EXPECT_THAT(error_text<UsageError>([&] { open("abcd", {.dtype = "float", .shape = {1}}); }),
              HasSubstr("found 'float'"));
}

TEST(ArrayPlaces, AreFilesOrMembersOfAnArchive) {
  EXPECT_TRUE(names_array("a/x.npy"));
  EXPECT_TRUE(names_array("x.NPZ"));
  EXPECT_TRUE(names_array("x.npz:edge_index"));
  EXPECT_FALSE(names_array("x.csv"));
  EXPECT_FALSE(names_array("2"));
  EXPECT_EQ(array_place("a/x.npz:y").file, "a/x.npz");
  EXPECT_EQ(array_place("a/x.npz:y").member, "y");
}

}  // namespace
}  // namespace plimsoll
