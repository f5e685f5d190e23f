#include "rows/batch_lists.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "base/error.h"
#include "memory/ledger.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

constexpr int64_t kRanges = 100;
constexpr int64_t kLists = 40;

class BatchListsTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = ScratchFile::make(folder_.path(), 4 << 20);
    if (!file_) GTEST_SKIP() << "temporary files lie in memory";
  }
  // Writes lists with up to `max` rows in each range.
  void write(BatchLists& lists, uint32_t max) {
    std::mt19937 random(7);
    int64_t at = 0;
    for (int64_t list = 0; list < kLists; ++list) {
      std::vector<uint16_t> rows;
      for (int64_t range = 0; range < kRanges; ++range) {
        counts_.push_back(static_cast<uint32_t>(random()) % (max + 1));
        for (uint32_t i = 0; i < counts_.back(); ++i) rows.push_back(static_cast<uint16_t>(random()));
      }
      std::ranges::copy(rows, lists.buffer().begin());
      lists.add(at, std::ssize(rows));
      at += BatchLists::list_bytes(std::ssize(rows));
      rows_.push_back(rows);
    }
    bytes_ = at;
  }
  // Reads all lists, range by range, and compares them.
  void compare(BatchLists& lists) {
    std::vector<std::vector<uint16_t>> found(kLists);
    for (int64_t range = 0; range < kRanges; ++range) {
      lists.fetch(range, counts_);
      for (int64_t list = 0; list < kLists; ++list) {
        const auto some = lists.take(list, counts_[static_cast<size_t>(list * kRanges + range)]);
        auto& to = found[static_cast<size_t>(list)];
        to.insert(to.end(), some.begin(), some.end());
      }
    }
    EXPECT_EQ(found, rows_);
  }

  TempFolder folder_;
  std::optional<ScratchFile> file_;
  std::vector<uint32_t> counts_;  // [lists, ranges].
  std::vector<std::vector<uint16_t>> rows_;
  int64_t bytes_ = 0;  // Bytes of all lists in the file.
};

// Reading each range of each list separately would read one page each: 4,000 pages.
TEST_F(BatchListsTest, SeveralRangesAreReadAtOnce) {
  BatchLists lists(*file_, 512 << 10, kLists);
  write(lists, 200);
  compare(lists);
  EXPECT_LE(lists.bytes_read(), bytes_ + 4 * kLists * ScratchFile::kAlignment);
}

TEST_F(BatchListsTest, ABufferForOneListIsEnough) {
  BatchLists lists(*file_, BatchLists::list_bytes(kRanges * 200) + ScratchFile::kAlignment, kLists);
  write(lists, 200);
  compare(lists);
  EXPECT_GT(lists.bytes_read(), bytes_ + 4 * kLists * ScratchFile::kAlignment);
}

TEST_F(BatchListsTest, ListsMayBeEmpty) {
  BatchLists lists(*file_, 64 << 10, kLists);
  write(lists, 0);
  compare(lists);
  EXPECT_EQ(lists.bytes_read(), 0);
}

TEST_F(BatchListsTest, AListThatCannotBeReadIsAnError) {
  BatchLists lists(*file_, 512 << 10, kLists);
  write(lists, 200);
  ASSERT_EQ(ftruncate(file_->descriptor(), 8192), 0);
  EXPECT_THROW(lists.fetch(0, counts_), Failure);
}

TEST_F(BatchListsTest, AllOfItIsInTheLedger) {
  const int64_t before = Ledger::process().held(Tag::cache);
  BatchLists lists(*file_, 64 << 10, kLists);
  EXPECT_LE(Ledger::process().held(Tag::cache) - before, BatchLists::memory_bytes(64 << 10, kLists));
}

}  // namespace
}  // namespace plimsoll
