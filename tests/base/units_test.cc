#include "base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

TEST(ParseSize, UnderstandsBinaryDecimalAndBareSizes) {
  EXPECT_EQ(parse_size("512MiB", 0), 512 * 1024 * 1024);
  EXPECT_EQ(parse_size("2GB", 0), 2'000'000'000);
  EXPECT_EQ(parse_size("3kb", 0), 3000);
  EXPECT_EQ(parse_size("1TB", 0), 1'000'000'000'000);
  EXPECT_EQ(parse_size("1TiB", 0), int64_t{1} << 40);
  EXPECT_EQ(parse_size("4K", 0), 4096);
  EXPECT_EQ(parse_size("1M", 0), 1 << 20);
  EXPECT_EQ(parse_size("1G", 0), 1 << 30);
  EXPECT_EQ(parse_size("1000000", 0), 1'000'000);
  EXPECT_EQ(parse_size("7B", 0), 7);
}

TEST(ParseSize, TakesFractionsSpacesAndAnyCase) {
  EXPECT_EQ(parse_size("1.5KiB", 0), 1536);
  EXPECT_EQ(parse_size("512 mib", 0), 512 * 1024 * 1024);
  EXPECT_EQ(parse_size("0.5 gIb", 0), 1 << 29);
}

TEST(ParseSize, TakesAShareOfTheWhole) {
  EXPECT_EQ(parse_size("80%", 1000), 800);
  EXPECT_EQ(parse_size("100%", 12345), 12345);
  EXPECT_EQ(parse_size("12.5 %", 800), 100);
}

TEST(ParseSize, RefusesWhatIsNoSizeAndShowsWhatIsUnderstood) {
  for (const char* text : {"",      " ",   "MiB",  "lots",     "0",      "0MiB", "-1",  "-5GiB",
                           "-80%",  "0%",  "101%", "1e30",     "1e400",  "nan",  "inf", "12 parsecs",
                           "1MiBs", "5%%", "0.1",  "0.00001%", "1,5GiB", "0x10", "--",  "9999999TB"}) {
    const std::string error = error_text<UsageError>([&] { parse_size(text, 1000); });
    EXPECT_THAT(error, testing::HasSubstr("512MiB")) << "for size '" << text << "'";
    EXPECT_THAT(error, testing::HasSubstr("'" + std::string(text) + "'"));
  }
}

TEST(FormatBytes, ShowsThreeDigitsAndABinaryUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(102'131'302), "97.4 MiB");
  EXPECT_EQ(format_bytes(3 * kGiB / 2), "1.5 GiB");
  EXPECT_EQ(format_bytes(-kMiB), "-1 MiB");
}

TEST(FormatBytes, NeverShowsAnExponent) {
  EXPECT_EQ(format_bytes(1000 * kKiB - 1), "0.977 MiB");
  EXPECT_EQ(format_bytes(1000 * kMiB - 1), "0.977 GiB");
  EXPECT_EQ(format_bytes(5 * 1024 * kGiB), "5 TiB");
  for (int64_t bytes = 1; bytes > 0 && bytes < std::numeric_limits<int64_t>::max() / 3;
       bytes += bytes / 7 + 1)
    EXPECT_THAT(format_bytes(bytes), testing::Not(testing::HasSubstr("e+"))) << bytes;
}

TEST(FormatCount, GroupsByThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1'234'567), "1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
  EXPECT_EQ(format_count(-123'456), "-123,456");
  EXPECT_EQ(format_count(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(FormatSeconds, TurnsToMinutesAtSixty) {
  EXPECT_EQ(format_seconds(0.42), "0.42 s");
  EXPECT_EQ(format_seconds(59.99), "59.99 s");
  EXPECT_EQ(format_seconds(59.999), "1 min 00 s");
  EXPECT_EQ(format_seconds(185), "3 min 05 s");
  EXPECT_EQ(format_seconds(119.6), "2 min 00 s");
}

}  // namespace
}  // namespace plimsoll
