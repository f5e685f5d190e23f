#include "telemetry/table.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Table, SetsNumbersToTheRightAndNamedColumnsToTheLeft) {
  Table table({"<split", "graphs", "f1"});
  table.add({"train", "12,345", "0.9"});
  table.add({"validation", "7", "0.12345"});
  EXPECT_EQ(table.text(),
            "split       graphs       f1\n"
            "----------  ------  -------\n"
            "train       12,345      0.9\n"
            "validation       7  0.12345\n");
}

TEST(Table, ShortRowsAreFilledAndLinesEndWithoutBlanks) {
  Table table({"<a", "<bcd", "<e"});
  table.add({"1"});
  table.add({"", "2"});
  table.add({});
  EXPECT_EQ(table.text(),
            "a  bcd  e\n"
            "-  ---  -\n"
            "1\n"
            "   2\n"
            "\n");
}

TEST(Table, HeadingsAloneAreATable) {
  EXPECT_EQ(Table({"<a", "b"}).text(), "a  b\n-  -\n");
}

TEST(Table, LettersBeyondAsciiTakeOnePlaceEach) {
  Table table({"<name", "n"});
  table.add({"café", "1"});
  table.add({"abcde", "2"});
  EXPECT_EQ(Table({"<é", "ü"}).text(), "é  ü\n-  -\n");
  EXPECT_EQ(table.text(),
            "name   n\n"
            "-----  -\n"
            "café   1\n"
            "abcde  2\n");
}

}  // namespace
}  // namespace plimsoll
