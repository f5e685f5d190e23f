#include "memory/tape.h"

#include <gtest/gtest.h>

#include <new>

#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

// A workspace ends in a destructor. If it cannot be recorded, that must neither be lost nor end the process.
TEST(TapeRecorder, AWorkspaceThatEndsWithoutMemoryIsToldByTheNextTake) {
  TapeRecorder recorder;
  recorder.begin_workspace();
  for (int64_t place = 0; place < 5; ++place) recorder.take(place, 100, 128);
  {
    const LedgerCap cap(Ledger::process().held());
    recorder.end_workspace();
  }
  EXPECT_THROW(recorder.take(5, 100, 128), std::bad_alloc);
  for (int64_t place = 0; place < 5; ++place) recorder.give(place);
}

TEST(TapeRecorder, WhatOutlivesAWorkspaceBecomesPiecesOfTheTape) {
  TapeRecorder recorder;
  recorder.begin_workspace();
  for (int64_t place = 0; place < 5; ++place) recorder.take(place, 100, 128);
  recorder.end_workspace();
  EXPECT_EQ(recorder.tape.pieces.size(), 6U);
  EXPECT_NO_THROW(recorder.take(5, 100, 128));
}

}  // namespace
}  // namespace plimsoll
