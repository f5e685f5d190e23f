#include "ingest/text/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

class Lines : public testing::Test {
 protected:
  LineReader reader(const std::string& text) {
    write_bytes(folder_ / "rows.txt", text);
    return {InputStream::open(folder_ / "rows.txt"), "rows.txt"};
  }
  std::vector<std::string> lines_of(const std::string& text) {
    LineReader lines = reader(text);
    std::vector<std::string> result;
    for (std::string_view line; lines.next(line);) result.emplace_back(line);
    return result;
  }
  std::string refusal(const std::string& text) {
    return error_text<InputError>([&] { lines_of(text); });
  }

 private:
  TempFolder folder_;
};

TEST_F(Lines, EndsOfLinesDoNotMatter) {
  const std::vector<std::string> expected = {"1, 2", "3, 4"};
  EXPECT_EQ(lines_of("1, 2\n3, 4\n"), expected);
  EXPECT_EQ(lines_of("1, 2\r\n3, 4\r\n"), expected);
  EXPECT_EQ(lines_of("1, 2\n3, 4"), expected);
  EXPECT_EQ(lines_of("1, 2\n3, 4\n\n \n"), expected);
  EXPECT_TRUE(lines_of("").empty());
}

TEST_F(Lines, ABlankLineBetweenRowsIsRefusedWithItsNumber) {
  EXPECT_THAT(refusal("1\n\n\n2\n"), HasSubstr("rows.txt:2: found a blank line"));
}

TEST_F(Lines, ALongRowIsReadAndOneLongerThanAnyRowIsRefused) {
  const std::string row(200'000, '7');
  EXPECT_EQ(lines_of("1\n" + row + "\n2\n"), (std::vector<std::string>{"1", row, "2"}));
  EXPECT_THAT(refusal("1\n" + std::string(17 << 20, '7')),
              HasSubstr("rows.txt:2: found a line of more than"));
}

TEST_F(Lines, NumbersAreParsedOrRefusedWithTheirPlace) {
  LineReader lines = reader("+3,-.5,1e39,x\n");
  std::string_view rest;
  ASSERT_TRUE(lines.next(rest));
  EXPECT_EQ(lines.whole(take_comma_field(rest), 0, 9, "a graph"), 3);
  EXPECT_EQ(lines.real(take_comma_field(rest), "a number"), -0.5F);
  const std::string_view large = take_comma_field(rest);
  EXPECT_THAT(error_text<InputError>([&] { lines.real(large, "a number"); }),
              HasSubstr("rows.txt:1:8: found '1e39', expected a number, a finite number"));
  const std::string_view word = take_comma_field(rest);
  EXPECT_EQ(rest.data(), nullptr);
  EXPECT_THAT(error_text<InputError>([&] { lines.whole(word, 0, 9, "a graph"); }),
              HasSubstr("rows.txt:1:13: found 'x', expected a graph, a whole number"));
  EXPECT_THAT(error_text<InputError>([&] { lines.refuse_end("another row"); }),
              HasSubstr("rows.txt: ends after line 1, expected another row"));
}

}  // namespace
}  // namespace plimsoll
