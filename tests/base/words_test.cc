#include "base/words.h"

#include <gmock/gmock.h>

#include "base/json.h"
#include "base/word_text.h"
#include "support/errors.h"

namespace plimsoll {

enum class Direction : uint8_t { in, out, both };
template <>
inline constexpr auto kWords<Direction> = std::to_array<std::string_view>({"in", "out", "both-ways"});

namespace {

TEST(Words, EachValueHasOneWordAndBack) {
  EXPECT_EQ(word_of(Direction::both), "both-ways");
  EXPECT_EQ(find_word<Direction>("out"), Direction::out);
  EXPECT_EQ(parse_word<Direction>("in", "--direction"), Direction::in);
  for (const char* wrong : {"", "In", "in ", "both", "both-ways-"})
    EXPECT_EQ(find_word<Direction>(wrong), std::nullopt) << wrong;
  static_assert(!Worded<int> && !Worded<std::byte> && Worded<Direction>);
}

TEST(Words, AnUnknownWordIsRefusedWithAllWordsAndTheNearest) {
  EXPECT_EQ(error_text<UsageError>([] { parse_word<Direction>("both-way", "--direction"); }),
            "--direction: found 'both-way', expected in, out or both-ways; did you mean 'both-ways'?");
  EXPECT_EQ(error_text<UsageError>([] { parse_word<Direction>("sideways", "--direction"); }),
            "--direction: found 'sideways', expected in, out or both-ways");
}

TEST(Words, PrintAndWriteAsText) {
  EXPECT_EQ(fmt::format("{:>4}|{}", Direction::in, Direction::both), "  in|both-ways");
  EXPECT_EQ(Json({{"direction", Direction::out}}).dump(), R"({"direction":"out"})");
}

}  // namespace
}  // namespace plimsoll
