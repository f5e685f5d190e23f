#include "memory/tape.h"

#include <gtest/gtest.h>

#include <new>

#include "memory/allocations.h"

namespace plimsoll {
namespace {

constexpr const char* kLongName = "a name that does not fit into a string without memory of its own";

// A workspace ends in a destructor. If it cannot be recorded, that must neither be lost nor end the process.
TEST(TapeRecorder, AWorkspaceThatEndsWithoutMemoryIsToldByTheNextTake) {
  set_current_operation(kLongName);
  int64_t refusals = 0;
  for (int64_t refused = 1;; ++refused) {
    TapeRecorder recorder;
    recorder.begin_workspace();
    for (int64_t place = 0; place < 5; ++place) recorder.take(place, 100, 128);
    const int64_t before = allocations;
    refused_allocation = before + refused;
    recorder.end_workspace();
    const bool was_refused = allocations >= before + refused;
    refused_allocation = 0;
    if (!was_refused) {
      EXPECT_EQ(recorder.tape.pieces.size(), 6U);
      EXPECT_NO_THROW(recorder.take(5, 100, 128));
      break;
    }
    ++refusals;
    EXPECT_THROW(recorder.take(5, 100, 128), std::bad_alloc);
    for (int64_t place = 0; place < 5; ++place) recorder.give(place);
  }
  EXPECT_GT(refusals, 5);
  set_current_operation("");
}

}  // namespace
}  // namespace plimsoll
