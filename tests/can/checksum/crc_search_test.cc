#include "can/checksum/crc_search.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

#include "support/checks.h"

namespace plimsoll {
namespace {

// Compares the checks used here with the check values in the catalogue of parametrised CRC algorithms
// (reveng.sourceforge.io/crc-catalogue).
TEST(CrcSearch, TheChecksOfTheseTestsAreThoseOfTheCatalogue) {
  const auto check_value = [](const Check& check) {
    const std::string_view text = "123456789";
    return check.over(std::vector<uint8_t>(text.begin(), text.end()));
  };
  EXPECT_EQ(check_value(kSaeJ1850), 0x4B);
  EXPECT_EQ(check_value(kSmbus), 0xF4);
  EXPECT_EQ(check_value(kAutosar), 0xDF);
  EXPECT_EQ(check_value(kMaxim), 0xA1);
}

class Checks : public testing::TestWithParam<Check> {
 protected:
  // Makes a payload of the bytes `others` and a check at byte `field`, which covers them and the bytes that
  // are not sent.
  static std::vector<uint8_t> whole(std::vector<uint8_t> others, size_t field, size_t unsent) {
    auto covered = others;
    covered.insert(covered.end(), unsent, 0x3C);
    others.insert(others.begin() + static_cast<std::ptrdiff_t>(field), GetParam().over(covered));
    return others;
  }
};

TEST_P(Checks, AreFoundInAnyByteWhateverComesAfter) {
  std::mt19937_64 random(7);
  for (size_t field = 0; field < 8; ++field)
    for (const size_t length : {size_t{8}, size_t{6}})
      for (const size_t unsent : {size_t{0}, size_t{2}}) {
        if (field >= length) continue;
        const uint64_t zeros = packed(whole(std::vector<uint8_t>(length - 1), field, unsent));
        std::vector<uint64_t> differences;
        for (int k = 0; k < 7; ++k) {
          std::vector<uint8_t> others(length - 1);
          for (uint8_t& byte : others) byte = static_cast<uint8_t>(random());
          differences.push_back(packed(whole(others, field, unsent)) ^ zeros);
        }
        const int first_bit = static_cast<int>(8 * field);
        const auto found = find_crc(8, first_bit, differences);
        ASSERT_TRUE(found.has_value()) << "byte " << field << " of " << length << ", " << unsent;
        // Tests one bit at a time, including bits that the differences do not determine.
        for (size_t bit = 0; bit < 8 * (length - 1); ++bit) {
          std::vector<uint8_t> others(length - 1);
          others[bit / 8] = static_cast<uint8_t>(128 >> bit % 8);
          const uint64_t one = packed(whole(others, field, unsent)) ^ zeros;
          const size_t place = bit < 8 * field ? bit : bit + 8;
          EXPECT_EQ(found->terms[place], one >> (56 - first_bit) & 255) << "bit " << place;
        }
        differences.back() ^= 1;
        EXPECT_FALSE(find_crc(8, first_bit, differences).has_value());
      }
}

INSTANTIATE_TEST_SUITE_P(Crc8, Checks, testing::Values(kSaeJ1850, kSmbus, kAutosar, kMaxim));

TEST(CrcSearch, XorIsThePolynomialOne) {
  std::vector<uint64_t> differences;
  std::mt19937_64 random(3);
  for (int k = 0; k < 7; ++k) {
    std::vector<uint8_t> bytes(8);
    uint8_t check = 0;
    for (size_t b = 0; b < 7; ++b) check ^= bytes[b] = static_cast<uint8_t>(random());
    bytes[7] = check;
    differences.push_back(packed(bytes));
  }
  const auto found = find_crc(8, 56, differences);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->polynomial, 1);
}

}  // namespace
}  // namespace plimsoll
