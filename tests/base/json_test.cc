#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "support/errors.h"

namespace plimsoll {
namespace {

std::string nested(size_t depth) {
  return std::string(depth, '[') + "1" + std::string(depth, ']');
}

TEST(ParseJson, KeepsOrderAndValues) {
  EXPECT_EQ(parse_json(R"({"b": [1, {"c": null}], "a": 0.5})").dump(), R"({"b":[1,{"c":null}],"a":0.5})");
  EXPECT_EQ(parse_json(nested(100)).dump(), nested(100));
}

TEST(ParseJson, DiscardsWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1} x", "\xff"})
    EXPECT_TRUE(parse_json(text).is_discarded());
}

TEST(ParseJson, DiscardsWhatIsNestedTooDeep) {
  EXPECT_TRUE(parse_json(nested(101)).is_discarded());
  EXPECT_TRUE(parse_json(nested(300'000)).is_discarded());
  EXPECT_TRUE(parse_json("{\"a\":" + nested(300'000) + ",\"b\":1}").is_discarded());
}

// Keys are compared one by one, so reading a file of a few MB could need hours.
TEST(ParseJson, DiscardsObjectsOfMoreKeysThanAnyoneWrites) {
  const auto of_keys = [](int count) {
    std::string text = "{";
    for (int k = 0; k < count; ++k) text += (k == 0 ? "\"" : ",\"") + std::to_string(k) + "\":[]";
    return text + "}";
  };
  EXPECT_EQ(parse_json(of_keys(4096)).size(), 4096U);
  EXPECT_TRUE(parse_json(of_keys(4097)).is_discarded());
  EXPECT_TRUE(parse_json(of_keys(1'000'000)).is_discarded());
  EXPECT_TRUE(parse_json("[[" + of_keys(1'000'000) + "]]").is_discarded());
  EXPECT_EQ(parse_json("[" + of_keys(4000) + "," + of_keys(4000) + "]").size(), 2U) << "each by itself";
}

TEST(WholeNumber, IsOneOf64Bits) {
  EXPECT_EQ(whole_number(parse_json("9223372036854775807")), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(whole_number(parse_json("-9223372036854775808")), std::numeric_limits<int64_t>::min());
  for (const char* text :
       {"9223372036854775808", "18446744073709551615", "18446744073709551616", "1.0", "true"})
    EXPECT_EQ(error_text<UsageError>([&] { whole_number(parse_json(text)); }).substr(0, 6), "found ") << text;
}

}  // namespace
}  // namespace plimsoll
