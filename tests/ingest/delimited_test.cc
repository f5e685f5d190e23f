#include "ingest/text/delimited.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;

class DelimitedText : public testing::Test {
 protected:
  Delimited open(const std::string& text, Comments comments = Comments::leading) const {
    write_bytes(folder_ / "table", text);
    return Delimited::open(folder_ / "table", comments);
  }
  TempFolder folder_;
};

TEST_F(DelimitedText, IsDividedByWhatBothLinesHaveEquallyOften) {
  EXPECT_THAT(open("a b,c d\n").columns, ElementsAre("a b", "c d"));
  EXPECT_THAT(open("1;2\n3;4\n").columns, ElementsAre("1", "2"));
  EXPECT_THAT(open("first name;last name\nAda May;King\n").columns, ElementsAre("first name", "last name"));
  EXPECT_THAT(open("1 | 2\n3 | 4\n").columns, ElementsAre("1", "2"));
  EXPECT_THAT(open("\"a b\"|\"c|d\"\n").columns, ElementsAre("a b", "c|d"));
  // Texts between blanks may hold bars and semicolons.
  EXPECT_THAT(open("a|b c|d\n").columns, ElementsAre("a|b", "c|d"));
  EXPECT_THAT(open("x;1 y;2\nz w\n").columns, ElementsAre("x;1", "y;2"));
}

TEST_F(DelimitedText, HasCommentsWhereTheyAreAllowed) {
  EXPECT_THAT(open("# c\n\n1 2\n# 3\n").second, ElementsAre("#", "3"));
  EXPECT_TRUE(open("# c\n1 2\n# 3\n", Comments::all).second.empty());
  EXPECT_THAT(open("#a #b\n", Comments::none).columns, ElementsAre("#a", "#b"));
}

TEST(IdName, IsAUsualNameOfAColumn) {
  for (const char* name :
       {"src", "dst", "Source", "Target", "FromNodeId", "node_id", "id", "ID", "from", "to"})
    EXPECT_TRUE(is_id_name(name)) << name;
  for (const char* id : {"a", "node/551", "node1", "7", "", "identity", "https://a/src", "paper"})
    EXPECT_FALSE(is_id_name(id)) << id;
}

}  // namespace
}  // namespace plimsoll
