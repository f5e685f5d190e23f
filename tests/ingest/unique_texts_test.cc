#include "ingest/text/unique_texts.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/philox.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

TEST(UniqueTexts, AreGivenOnceInTheOrderOfTheirBytes) {
  const TempFolder folder;
  for (const int64_t memory :
       {int64_t{16} << 20, int64_t{0}}) {  // In memory, and in more runs than are merged at once.
    std::set<std::string> expected;
    UniqueTexts texts(folder.path(), "texts", memory, FileSystem::disk());
    for (uint32_t i = 0; i < 20'000; ++i) {
      const auto draw = Philox(1)({i, 0, 0, 0});
      std::string text = "https://example.org/" + std::to_string(draw[0] % 9000);
      text.resize(draw[1] % (text.size() + 1));
      if (i % 7 == 0) text += std::string("\0\xFF", 2);
      texts.add(text);
      expected.insert(text);
    }
    std::vector<std::string> found;
    texts.take([&](std::string_view text) { found.emplace_back(text); });
    EXPECT_EQ(found, std::vector<std::string>(expected.begin(), expected.end()));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

TEST(UniqueTexts, OneThatIsTooLongIsRefused) {
  const TempFolder folder;
  UniqueTexts texts(folder.path(), "texts", 1 << 20, FileSystem::disk());
  EXPECT_THROW(texts.add(std::string(70'000, 'x')), InputError);
}

}  // namespace
}  // namespace plimsoll
