#include "rows/page_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using Places = std::vector<int64_t>;

class PageCacheTest : public testing::TestWithParam<ReadMethod> {
 protected:
  static constexpr int64_t kOffset = 128;

  template <typename T>
  NumberLayout write_numbers(int64_t count) {
    std::string bytes(kOffset, 'h');
    for (int64_t place = 0; place < count; ++place) {
      const T number = number_at<T>(place);
      bytes.append(reinterpret_cast<const char*>(&number), sizeof(T));
    }
    write_bytes(file_, bytes);
    return {kOffset, sizeof(T), count};
  }
  template <typename T>
  static T number_at(int64_t place) {
    return static_cast<T>(place * 2654435761 + 12345);
  }
  template <typename T>
  static void expect_numbers(PageCache& cache, const Places& places) {
    std::vector<T> numbers(places.size(), T{});
    std::vector<int> used(places.size(), 0);
    cache.read<T>(places, [&](size_t i, const T* number) {
      numbers[i] = *number;
      ++used[i];
    });
    for (size_t i = 0; i < places.size(); ++i) {
      ASSERT_EQ(numbers[i], number_at<T>(places[i])) << "place " << places[i];
      ASSERT_EQ(used[i], 1);
    }
  }
  static Places random_places(size_t count, int64_t end, uint32_t seed) {
    std::mt19937 random(seed);
    Places places(count);
    for (int64_t& place : places) {
      const double at = static_cast<double>(random()) / 4294967296.0;
      place = static_cast<int64_t>(at * at * static_cast<double>(end));
    }
    return places;
  }
  bool refused() { return !open_method(file_, GetParam(), 4096, 4096); }

  TempFolder folder_;
  std::filesystem::path file_ = folder_ / "numbers";
};

TEST_P(PageCacheTest, GivesTheNumbersOfTheFileForEveryBudget) {
  const auto hold = [&]<typename T>(T) {
    for (const int64_t count : {1, 16, 5'003}) {
      const NumberLayout layout = write_numbers<T>(count);
      for (const int64_t page_bytes : {16, 64, 4096}) {
        PageCache cache(file_, layout, {GetParam(), page_bytes});
        for (int64_t pages = 1; pages < 4 * cache.pages(); pages *= 3) {
          cache.resize(cache.bytes_for(std::min(pages, cache.pages())));
          for (const size_t places : {0, 1, 40, 3'000})
            expect_numbers<T>(cache, random_places(places, count, static_cast<uint32_t>(pages)));
          expect_numbers<T>(cache, {count - 1, 0, count - 1});
        }
      }
    }
  };
  write_numbers<int64_t>(1);
  if (refused()) GTEST_SKIP() << method_name(GetParam()) << " is refused here";
  hold(int64_t{});
  hold(uint32_t{});
}

TEST_P(PageCacheTest, FileCutShortWhileOpenIsAnErrorAndNoSignal) {
  const NumberLayout layout = write_numbers<int64_t>(4'000);
  if (refused()) GTEST_SKIP() << method_name(GetParam()) << " is refused here";
  PageCache cache(file_, layout, {GetParam(), 64});
  cache.resize(cache.bytes_for(20));
  expect_numbers<int64_t>(cache, {1, 2, 50});
  std::filesystem::resize_file(file_, 16'500);
  for (int round = 0; round < 30; ++round) {
    EXPECT_THAT(
        error_text<InputError>([&] {
          cache.read<int64_t>(Places{3'990, 3, 700 + 8 * round, 3'000}, [](size_t, const int64_t*) {});
        }),
        HasSubstr(file_.string() + ": the file ends at byte "));
    expect_numbers<int64_t>(cache, {1, 2, 50, 900, 100 + 8 * round});
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, PageCacheTest,
                         testing::Values(ReadMethod::ring_direct, ReadMethod::pool_direct, ReadMethod::ring,
                                         ReadMethod::pool),
                         [](const auto& counters) {
                           std::string name = method_name(counters.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

using PlainPageCacheTest = PageCacheTest;

TEST_F(PlainPageCacheTest, WithRoomForAllItEndsWithTheWholeFileInMemory) {
  PageCache cache(file_, write_numbers<uint32_t>(40'000), {{}, 1024});
  cache.resize(cache.max_bytes());
  expect_numbers<uint32_t>(cache, {39'999, 1});
  const PageCounters first = cache.counters();
  EXPECT_EQ(first.pages_read, cache.pages());
  write_bytes(file_, "");
  expect_numbers<uint32_t>(cache, random_places(30'000, 40'000, 1));
  const PageCounters then = cache.counters();
  EXPECT_EQ(then.pages_read, first.pages_read);
  EXPECT_EQ(then.bytes_read, first.bytes_read);
  EXPECT_EQ(then.hits - first.hits, 30'000);
  EXPECT_EQ(then.misses, 0);
}

TEST_F(PlainPageCacheTest, APageIsReadOnceACall) {
  PageCache cache(file_, write_numbers<int64_t>(10'000), {ReadMethod::pool, 64});
  cache.resize(cache.min_bytes());
  expect_numbers<int64_t>(cache, {5'000, 7, 5'001, 6, 5'000, 9'999, 9'998});
  const PageCounters counters = cache.counters();
  EXPECT_EQ(counters.hits, 0);
  EXPECT_EQ(counters.misses, 7);
  EXPECT_EQ(counters.pages_read, 3);
  EXPECT_EQ(counters.bytes_read, 3 * 64 - 0);
}

TEST_F(PlainPageCacheTest, PagesOfManyUsesOutlastAPassOverTheFile) {
  PageCache cache(file_, write_numbers<int64_t>(8'000), {{}, 64});  // 1,000 pages.
  cache.resize(cache.bytes_for(100));
  Places hubs;
  for (int64_t page = 0; page < 50; ++page) hubs.push_back(page * 8 * 20);
  for (int round = 0; round < 5; ++round) expect_numbers<int64_t>(cache, hubs);
  Places all(8'000);
  std::iota(all.begin(), all.end(), 0);
  expect_numbers<int64_t>(cache, all);
  const PageCounters before = cache.counters();
  expect_numbers<int64_t>(cache, hubs);
  EXPECT_EQ(cache.counters().pages_read, before.pages_read);

  // Other pages that are used more replace them.
  for (int64_t& hub : hubs) hub += 8;
  for (int round = 0; round < 500; ++round) expect_numbers<int64_t>(cache, hubs);
  const PageCounters after = cache.counters();
  expect_numbers<int64_t>(cache, hubs);
  EXPECT_EQ(cache.counters().pages_read, after.pages_read);
}

TEST_F(PlainPageCacheTest, LedgerHoldsNoMoreThanItsBytes) {
  const NumberLayout layout = write_numbers<uint32_t>(300'000);
  const int64_t before = Ledger::process().held();
  {
    PageCache cache(file_, layout, {});
    for (const int64_t bytes : {cache.min_bytes(), cache.min_bytes() + 100'000, cache.max_bytes(),
                                2 * cache.max_bytes(), cache.min_bytes() + 5'000}) {
      cache.resize(bytes);
      for (uint32_t seed = 0; seed < 3; ++seed)
        expect_numbers<uint32_t>(cache, random_places(20'000, 300'000, seed));
      EXPECT_LE(Ledger::process().held() - before, bytes);
      EXPECT_GT(Ledger::process().held() - before, std::min(bytes, cache.max_bytes()) - 4'100)
          << "less than a page is left";
    }
    const LedgerCap cap(50'000);
    error_text<BudgetExceeded>([&] { cache.resize(cache.max_bytes()); });
    expect_numbers<uint32_t>(cache, random_places(2'000, 300'000, 4));
  }
  EXPECT_EQ(Ledger::process().held(), before);
}

TEST_F(PlainPageCacheTest, ThreadsMayCallAtOnce) {
  PageCache cache(file_, write_numbers<int64_t>(50'000), {{}, 512});
  cache.resize(cache.bytes_for(100));
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (uint32_t round = 0; round < 50; ++round) {
        expect_numbers<int64_t>(cache, random_places(500, 50'000, 100 * thread + round));
        if (round % 10 == thread) cache.resize(cache.bytes_for(1 + 40 * thread));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(PlainPageCacheTest, RefusesWhatCannotBe) {
  const NumberLayout layout = write_numbers<int64_t>(100);
  PageCache cache(file_, layout, {});
  EXPECT_THAT(error_text<UsageError>([&] { cache.resize(cache.min_bytes() - 1); }),
              HasSubstr("has no space for a page of 4096"));
  for (const int64_t page_bytes : {4, 24, 5000})
    EXPECT_THAT(error_text<UsageError>([&] {
                  PageCache(file_, layout, {{}, page_bytes});
                }),
                HasSubstr("expected a power of two"));
  EXPECT_THAT(error_text<InputError>([&] {
                PageCache(file_, {kOffset, 8, 101}, {});
              }),
              HasSubstr("928 bytes, expected 936"));
}

}  // namespace
}  // namespace plimsoll
