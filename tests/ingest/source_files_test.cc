#include "ingest/text/source_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

TEST(SourceFiles, ManyLinksToFoldersAroundThemEnd) {
  const TempFolder root;
  for (const char* folder : {"a", "a/b", "c"}) {
    fs::create_directories(root / folder);
    std::ofstream(root / folder / "file") << "x";
    for (int n = 0; n < 5; ++n) fs::create_directory_symlink(root.path(), root / folder / std::to_string(n));
  }
  std::vector<std::string> found;
  visit_files(root.path(),
              [&](const fs::path& path) { found.push_back(path.lexically_relative(root.path()).string()); });
  std::ranges::sort(found);
  EXPECT_EQ(found, (std::vector<std::string>{"a/b/file", "a/file", "c/file"}));
}

TEST(SourceFiles, AFolderThatIsNotThereIsAnInputError) {
  const TempFolder root;
  EXPECT_THROW(visit_files(root / "absent", [](const fs::path&) {}), InputError);
}

}  // namespace
}  // namespace plimsoll
