#include "memory/meter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kPiece = 64 * kMiB;
constexpr int64_t kSlack = 4 * kMiB;  // what the program itself may do meanwhile

/// 64 MiB of anonymous memory, every page of it touched.
class TouchedMemory {
 public:
  TouchedMemory()
      : data_(::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ != MAP_FAILED) std::memset(data_, 1, kPiece);
  }
  ~TouchedMemory() { ::munmap(data_, kPiece); }
  TouchedMemory(const TouchedMemory&) = delete;
  TouchedMemory& operator=(const TouchedMemory&) = delete;

 private:
  void* data_;
};

TEST(ProcessMemory, TouchedMemoryIsAnonymousAndGoesWhenFreed) {
  const int64_t before = process_memory().anonymous;
  EXPECT_GT(before, 0);
  {
    const TouchedMemory memory;
    const int64_t during = process_memory().anonymous;
    EXPECT_GE(during, before + kPiece - kSlack);
#ifndef __SANITIZE_THREAD__  // which holds several bytes for each that is touched
    EXPECT_LE(during, before + kPiece + kSlack);
#endif
  }
  EXPECT_LE(process_memory().anonymous, before + kSlack);
}

TEST(ProcessMemory, TheProgramItselfIsFileBacked) {
  EXPECT_GT(process_memory().file_backed, 0);
}

TEST(Meter, ItsThreadSeesAPeakThatIsOverWhenAsked) {
  const int64_t before = process_memory().anonymous;
  Meter meter;
  {
    const TouchedMemory memory;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // ten samples
  }
  EXPECT_LE(process_memory().anonymous, before + kSlack);
  EXPECT_GE(meter.peak_anonymous(), before + kPiece - kSlack);
}

TEST(Meter, AskingTakesASampleAtOnce) {
  Meter meter;
  const TouchedMemory memory;
  EXPECT_GE(meter.peak_anonymous(), kPiece);
}

TEST(Meter, EndsWithItsScopeWithoutWaitingForASample) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) Meter meter;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1900));
}

}  // namespace
}  // namespace plimsoll
