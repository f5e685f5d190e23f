#include "memory/tape_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The tape of a made-up block: a piece of 64 bytes per node, one of 8 bytes per edge and 40 more, and a
// workspace of as many pieces as the block has nodes.
Tape tape_of(const Terms& terms) {
  const int64_t nodes = terms[1], edges = terms[2];
  TapeRecorder recorder;
  recorder.take(1, 64 * nodes, 64 * nodes + kTensorHeader);
  recorder.take(2, 8 * edges + 40, 8 * edges + 40 + kTensorHeader);
  recorder.begin_workspace();
  for (int64_t piece = 0; piece < nodes; ++piece) recorder.take(10 + piece, 16, 16 + kTensorHeader);
  for (int64_t piece = 0; piece < nodes; ++piece) recorder.give(10 + piece);
  recorder.end_workspace();
  recorder.give(1);
  return recorder.tape;
}

TapeProbes probes_of(std::span<const Terms> terms) {
  TapeProbes probes;
  for (const Terms& of_one : terms) probes.add(tape_of(of_one), of_one);
  return probes;
}

TEST(TapeModel, ComputesTheSizesOfOtherBlocks) {
  const std::vector<Terms> terms = {{1, 2, 3}, {1, 5, 3}, {1, 2, 9}, {1, 7, 8}};
  const TapeModel model(probes_of(terms));
  ASSERT_TRUE(model.exact()) << model.difference();
  const Terms other = {1, 100, 1000};
  EXPECT_THAT(model.sizes(other), ElementsAre(6400, 8040, 1600));
  EXPECT_EQ(model.peak(other).bytes, 6400 + 8040 + 1600);
  std::vector<PlannedAllocation> pieces(3), highest(3);
  model.rooms(other, pieces);
  EXPECT_GE(pieces[2].bytes, tape_of(other).pieces[2].room);
  model.highest_rooms({1, 0, 0}, other, highest);
  for (size_t i = 0; i < pieces.size(); ++i) EXPECT_GE(highest[i].bytes, pieces[i].bytes);
}

TEST(TapeModel, NamesTheOperationAfterWhichTapesDiffer) {
  TapeProbes probes = probes_of(std::vector<Terms>{{1, 2, 3}});
  set_current_operation("sort");
  TapeRecorder recorder;
  recorder.take(1, 64, 64);
  set_current_operation("");
  probes.add(recorder.tape, {1, 1, 1});
  const TapeModel model(probes);
  EXPECT_FALSE(model.same_sequence());
  EXPECT_THAT(model.difference(), HasSubstr("depend on the data"));
  EXPECT_GE(model.envelope({1, 2, 3}), probes.sizes()[0].as_they_come);
}

TEST(TapeModel, NeedsProbes) {
  EXPECT_THROW(TapeModel{TapeProbes()}, UsageError);
}

// A typed graph has hundreds of terms. The model's bytes are in the ledger, and do not grow with the terms on
// which no piece depends.
TEST(TapeModel, IsInTheLedgerAndStoresFewCoefficients) {
  constexpr size_t kTerms = 300;
  const int64_t before = Ledger::process().held();
  {
    TapeProbes probes;
    for (size_t term = 0; term < kTerms; ++term) {
      Terms terms(kTerms, 1);
      terms[term] += static_cast<int64_t>(term) + 1;
      terms[0] = 1;
      probes.add(tape_of(terms), terms);
    }
    const int64_t with_probes = Ledger::process().held();
    EXPECT_GT(with_probes, before + static_cast<int64_t>(kTerms) * 3 * 8);
    const TapeModel model(probes);
    ASSERT_TRUE(model.exact()) << model.difference();
    EXPECT_GT(Ledger::process().held(), with_probes);
    EXPECT_LT(Ledger::process().held(), with_probes + 1024);
    Terms other(kTerms, 4);
    other[0] = 1;
    EXPECT_THAT(model.sizes(other), ElementsAre(256, 72, 64));
  }
  EXPECT_EQ(Ledger::process().held(), before);
}

}  // namespace
}  // namespace plimsoll
