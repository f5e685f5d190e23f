#include "can/tasks/published.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "io/file.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

std::filesystem::path written(const TempFolder& folder, const std::string& text) {
  const auto path = folder.path() / "published.json";
  write_text(path, text);
  return path;
}

TEST(Published, ModelsOfASplitAreFoundWhateverFolderItLiesIn) {
  const TempFolder folder;
  const Published published(
      written(folder, R"({"source": "S", "splits": [{"name": "test_01", "graphs": 40, "models": [
      {"name": "A", "f1": 0.5, "auc": null, "year": 2025}, {"name": "B", "auc": 1}]}]})"));
  EXPECT_EQ(published.source(), "S");
  const auto models = published.models("hcrl_sa/test_01");
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].f1, 0.5);
  EXPECT_EQ(models[0].auc, std::nullopt);
  EXPECT_EQ(models[1].f1, std::nullopt);
  EXPECT_TRUE(published.models("test_02").empty());
  EXPECT_EQ(published.graphs("test_01"), 40);
  EXPECT_EQ(published.graphs("test_02"), std::nullopt);
  EXPECT_EQ(published.content()["splits"][0]["models"][0]["year"], 2025);
}

TEST(Published, AFileOfAnotherFormIsRefusedByName) {
  const TempFolder folder;
  for (const char* text :
       {"", "[]", "{}", R"({"source": "S"})", R"({"source": "S", "splits": [{}]})",
        R"({"source": "S", "splits": [{"name": "a", "graphs": "many", "models": []}]})",
        R"({"source": "S", "splits": [{"name": "a", "models": [{"f1": 1}]}]})",
        R"({"source": "S", "splits": [{"name": "a", "models": [{"name": "x", "f1": 99.3}]}]})",
        R"({"source": "S", "splits": [{"name": "a", "models": [{"name": "x", "f1": "high"}]}]})"})
    try {
      const Published published(written(folder, text));
      FAIL() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("published.json"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace plimsoll
