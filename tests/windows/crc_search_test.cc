#include "windows/crc_search.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

#include "support/checks.h"

namespace plimsoll {
namespace {

// Check values of the catalogue of parametrised CRC algorithms (reveng.sourceforge.io/crc-catalogue): that
// the check below is the one that is meant.
TEST(CrcSearch, TheChecksOfTheseTestsAreThoseOfTheCatalogue) {
  const auto of = [](const Check& check) {
    const std::string_view text = "123456789";
    return check.over(std::vector<uint8_t>(text.begin(), text.end()));
  };
  EXPECT_EQ(of(kSaeJ1850), 0x4B);
  EXPECT_EQ(of(kSmbus), 0xF4);
  EXPECT_EQ(of(kAutosar), 0xDF);
  EXPECT_EQ(of(kMaxim), 0xA1);
}

class Checks : public testing::TestWithParam<Check> {};

TEST_P(Checks, AreFoundInAnyByteWhateverComesAfter) {
  std::mt19937_64 random(7);
  for (size_t field = 0; field < 8; ++field)
    for (const size_t length : {size_t{8}, size_t{6}})
      for (const size_t unsent : {size_t{0}, size_t{2}}) {
        if (field >= length) continue;
        std::vector<uint64_t> differences;
        uint64_t first = 0;
        for (int k = 0; k < 8; ++k) {
          std::vector<uint8_t> bytes(length - 1);
          for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
          auto covered = bytes;
          covered.insert(covered.end(), {0x12, 0x34});
          covered.resize(bytes.size() + unsent);
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(field), GetParam().over(covered));
          const uint64_t payload = packed(bytes);
          if (k == 0) first = payload;
          if (k > 0) differences.push_back(payload ^ first);
        }
        const auto found = find_crc(8, static_cast<int>(8 * field), differences);
        ASSERT_TRUE(found.has_value()) << "byte " << field << " of " << length << ", " << unsent;
        EXPECT_EQ(found->polynomial, GetParam().polynomial);
        EXPECT_EQ(found->reflected, GetParam().reflected);
        differences.back() ^= 1;
        EXPECT_FALSE(find_crc(8, static_cast<int>(8 * field), differences).has_value());
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
