#include "base/json_text.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace plimsoll {
namespace {

std::string written(const Json& json, int indent) {
  std::string text;
  write_json(json, indent, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST(JsonText, IsThatOfDumpInPieces) {
  Json json = {{"name", "a \"text\"\nwith ü"}, {"empty", Json::object()}, {"none", nullptr}, {"real", 0.1}};
  for (int i = 0; i < 10000; ++i) json["rows"].push_back({{"number", i}, {"list", {1, 2, 3}}});
  EXPECT_EQ(written(json, 1), json.dump(1));
  EXPECT_EQ(written(json, 0), json.dump());
  EXPECT_EQ(written(Json::array(), 0), "[]");
}

TEST(JsonText, OfBytesThatAreNoTextHasReplacements) {
  EXPECT_EQ(json_text({{"out", "runs/\xff"}}), "{\"out\":\"runs/\xEF\xBF\xBD\"}");
  EXPECT_EQ(json_text({{"a", 1}}, 1), "{\n \"a\": 1\n}");
}

TEST(JsonText, ErrorsOfTheTakerAndOfTextsGoOn) {
  const auto fail = [](std::string_view) { throw std::runtime_error("full"); };
  EXPECT_THROW(write_json(Json{{"a", std::string(100000, 'x')}}, 1, fail), std::runtime_error);
  EXPECT_THROW(write_json(Json{{"a", 1}}, 1, fail), std::runtime_error);
  EXPECT_THROW(written(Json{{"a", "\xff"}}, 1), Json::exception);
}

}  // namespace
}  // namespace plimsoll
