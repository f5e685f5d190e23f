#include "sample/block/prefetcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "memory/ledger.h"
#include "sample/block/batches.h"
#include "support/random_graphs.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

constexpr BlockLimits kLimits{5, 100'000, 100'000};

// Counts the reads of a slow thread that reads ahead.
class SlowGraphs : public RandomGraphs {
 public:
  using RandomGraphs::RandomGraphs;
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    ++reads;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    RandomGraphs::read(graphs, block);
  }
  mutable std::atomic<int> reads = 0;
};

// Each read waits for the disk, so that the system is told about the next blocks, but there is no memory for
// that.
class ColdGraphs : public RandomGraphs {
 public:
  using RandomGraphs::RandomGraphs;
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    const int file = ::open(page_.c_str(), O_RDONLY | O_CLOEXEC);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    void* const page = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file, 0);
    const char first = *static_cast<volatile char*>(page);
    EXPECT_EQ(first, 'x');
    ::munmap(page, kPage);
    ::close(file);
    RandomGraphs::read(graphs, block);
  }
  void will_need(std::span<const int64_t>) const override {
    ++asked;
    throw std::bad_alloc();
  }
  void write_page() {
    write_bytes(page_, std::string(kPage, 'x'));
    const int file = ::open(page_.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(::fsync(file), 0);
    ::close(file);
  }
  mutable std::atomic<int> asked = 0;

 private:
  static constexpr size_t kPage = 4096;
  TempFolder folder_;
  std::filesystem::path page_ = folder_ / "page";
};

class PrefetcherTest : public testing::Test {
 protected:
  PrefetcherTest() {
    for (int64_t g = 0; g < 400; ++g) graphs_.push_back(g);
  }
  GraphList graphs_;
};

TEST_F(PrefetcherTest, ItsEndWaitsForOneBlockAlone) {
  const SlowGraphs source(400, 50, 7);
  const auto shapes = read_shapes(source, 1);
  source.reads = 0;
  int reads = 0;
  {
    Prefetcher ahead(source, shapes, 60);
    ahead.expect(graphs_, cut_blocks(graphs_, shapes, kLimits));
    while (source.reads < 2) std::this_thread::yield();
    reads = source.reads;
  }
  EXPECT_LE(source.reads, reads + 1);
}

// Freed memory may be allocated elsewhere in the heap: a process held up to 1.9 MiB beyond its plan.
TEST_F(PrefetcherTest, ForgettingKeepsTheRoomOfBlocksAndDroppingGivesItBack) {
  const SlowGraphs source(400, 50, 7);
  const auto shapes = read_shapes(source, 1);
  Prefetcher prefetcher(source, shapes, 2);
  BlockSize largest;
  for (const GraphShape& shape : shapes) largest.add(shape);
  prefetcher.make_room(largest);
  source.reads = 0;
  prefetcher.expect(graphs_, cut_blocks(graphs_, shapes, kLimits));
  while (source.reads < 2) std::this_thread::yield();
  prefetcher.forget();
  const int64_t room = Ledger::process().held();
  prefetcher.drop();
  EXPECT_EQ(room - Ledger::process().held(), 2 * GraphBlock::bytes_for(largest, source.room()));
}

TEST_F(PrefetcherTest, RefusedMemoryIsNotTheEndOfTheProcess) {
  ColdGraphs source(400, 50, 7);
  source.write_page();
  const auto shapes = read_shapes(source, 1);
  Prefetcher ahead(source, shapes, 4);
  const GraphList begins = cut_blocks(graphs_, shapes, kLimits);
  ahead.expect(graphs_, begins);
  GraphBlock block;
  for (size_t b = 0; b + 1 < begins.size(); ++b) {
    const auto graphs = std::span(graphs_).subspan(static_cast<size_t>(begins[b]),
                                                   static_cast<size_t>(begins[b + 1] - begins[b]));
    ahead.read(graphs, block);
    EXPECT_EQ(std::vector<int64_t>(block.graph.begin(), block.graph.end()),
              std::vector<int64_t>(graphs.begin(), graphs.end()));
  }
  if (source.asked == 0) GTEST_SKIP() << "pages of a file do not leave memory here";
}

}  // namespace
}  // namespace plimsoll
