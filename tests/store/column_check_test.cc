#include "store/column_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/made_up_sets.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ColumnCheckOfGraphs : public testing::Test {
 protected:
  void SetUp() override { write_made_up_graphs(folder_); }
  Json check(const ColumnCheck& options = {}) const { return check_columns(DataSetView(folder_), options); }
  std::string refusal(const ColumnCheck& options = {}) const {
    return error_text<InputError>([&] { check(options); });
  }

  TempFolder parent_;
  std::filesystem::path folder_ = parent_ / "graphs";
  std::filesystem::path x_ = folder_ / "x.npy";
};

TEST_F(ColumnCheckOfGraphs, AWholeSetIsNamedByItsManifest) {
  Hasher hasher;
  const std::string manifest = read_bytes(folder_ / "manifest.json");
  hasher.add(manifest.data(), manifest.size());
  EXPECT_EQ(check(), Json({{"manifest", hasher.hex64()}}));
}

TEST_F(ColumnCheckOfGraphs, AChangedBitOfAnyColumnIsRefusedByItsName) {
  const Json columns = read_manifest(folder_)["columns"];
  for (const auto& [name, column] : columns.items()) {
    const auto path = folder_ / (name + ".npy");
    // Opening checks the first and last pointer, so an inner one is changed.
    const size_t at = name.ends_with("_ptr") ? 4096 + 8 : 4096;
    flip_bit(path, at);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("column '" + name + "'"), HasSubstr("make the set again")));
    flip_bit(path, at);
  }
  check();
}

TEST_F(ColumnCheckOfGraphs, OfALargeSetTheChecksumsAreCheckedWhereItsFilesAreOthers) {
  ColumnCheck large{.max_bytes = 0};
  const Json read = check(large);
  EXPECT_EQ(read["columns"]["x"]["bytes"], std::filesystem::file_size(x_));
  const std::string bytes = read_bytes(x_);
  flip_bit(x_, 4096);
  check(large);  // Nothing is known about its files yet.
  large.known = read["columns"];
  EXPECT_THAT(refusal(large), HasSubstr("column 'x'"));
  EXPECT_THAT(refusal({.full = true, .max_bytes = 0}), HasSubstr("column 'x'"));
  write_bytes(x_, bytes);
  EXPECT_NE(check(large)["columns"]["x"], read["columns"]["x"]);  // It is another file with the same data.
  large.known = check(large)["columns"];
  int64_t total = 0;
  large.progress = [&](int64_t, int64_t all) { total = all; };
  check(large);
  EXPECT_EQ(total, 0) << "nothing is read that is known";
}

TEST_F(ColumnCheckOfGraphs, ProgressCountsTheBytesOfColumnsAndMayEndIt) {
  std::vector<int64_t> seen;
  int64_t all = 0;
  const DataSetView set(folder_);
  for (const auto& [name, column] : set.columns()) all += static_cast<int64_t>(column.data().size());
  check({.progress = [&](int64_t done, int64_t total) {
    seen.push_back(done);
    EXPECT_EQ(total, all);
  }});
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), all);
  EXPECT_THROW(check({.progress = [](int64_t, int64_t) { throw UsageError("enough"); }}), UsageError);
}

}  // namespace
}  // namespace plimsoll
