#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>

#include "io/file.h"
#include "job/job_report.h"
#include "support/temp_folder.h"

namespace {
std::atomic<int64_t> held = 0, max = 0;

void* counted(void* memory) {
  if (memory == nullptr) return nullptr;
  const int64_t now = held += static_cast<int64_t>(::malloc_usable_size(memory));
  if (now > max) max = now;
  return memory;
}
void give_back(void* memory) {
  if (memory != nullptr) held -= static_cast<int64_t>(::malloc_usable_size(memory));
  std::free(memory);
}
}  // namespace

void* operator new(size_t bytes) {
  if (void* const memory = counted(std::malloc(bytes))) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return counted(std::malloc(bytes));
}
void operator delete(void* memory) noexcept {
  give_back(memory);
}
void operator delete(void* memory, size_t) noexcept {
  give_back(memory);
}

namespace plimsoll {
namespace {

void write_run_of(int events, const std::filesystem::path& run) {
  make_folders(run / "seed-42" / "gat");
  write_text(run / "manifest.json", R"({"kind": "run"})");
  std::ofstream journal(run / "seed-42" / "gat" / "events.jsonl");
  for (int i = 0; i < events; ++i)
    journal << fmt::format(
        R"({{"time":{},"event":"progress","memory":{{"held":{},"tags":{{"blocks":1,"columns":2,"other":3}}}},)"
        R"("reading":{{"waited_s":1,"stalled_s":0.5,"bytes_read":100}},"note":"0123456789012345678901234567"}})"
        "\n",
        i, i);
}

TEST(JobReportMemory, DoesNotGrowWithTheJournal) {
  const TempFolder folder;
  const auto peak_of = [&](int events) {
    const auto run = folder / std::to_string(events);
    write_run_of(events, run);
    const int64_t before = held;
    max = before;
    EXPECT_EQ(job_report(run)["journal"]["rows"]["waited_s"], events);
    return max - before;
  };
  const int64_t few = peak_of(10);
  EXPECT_GT(few, 0);
  EXPECT_LE(peak_of(10'000), few + 4096);
}

}  // namespace
}  // namespace plimsoll
