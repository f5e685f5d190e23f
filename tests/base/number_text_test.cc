#include "base/number_text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace plimsoll {
namespace {

TEST(NumberText, ReadsWholeTextsAlone) {
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  EXPECT_EQ(parse_number<double>("+1e-3"), 1e-3);
  EXPECT_EQ(parse_number<int64_t>("-7"), -7);
  for (const char* text : {"", "+", "+-1", "0,5", "1 ", " 1", "1um", "nan", "inf", "-inf", "1e400"})
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  for (const char* text : {"1.5", "1e3", "9223372036854775808"})
    EXPECT_EQ(parse_number<int64_t>(text), std::nullopt) << text;
}

TEST(NumberText, AFloatHasItsShortestDigits) {
  EXPECT_EQ(shortest_double(0.1F), 0.1);
  EXPECT_EQ(shortest_double(1e-45F), 1e-45);
  EXPECT_EQ(shortest_double(-3.4028235e38F), -3.4028235e38);
}

}  // namespace
}  // namespace plimsoll
