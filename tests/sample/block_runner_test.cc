#include "sample/block/block_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "support/fixed_ranges.h"
#include "support/ledger_cap.h"
#include "support/random_graphs.h"

namespace plimsoll {
namespace {

// A stand-in for a model: allocates its tensors in the block's range as torch does, computes one float from
// the block, and holds both until its commit has run.
class FakeModel {
 public:
  BlockRunner::Commit work(const GraphBlock& block, int64_t first) {
    auto tensors = std::make_shared<std::vector<Tensor>>();
    for (int i = 0; i < 8; ++i) tensors->emplace_back(static_cast<int64_t>(block.x.size() * sizeof(float)));
    float* const values = tensors->back().values;
    std::memcpy(values, block.x.data(), block.x.size() * sizeof(float));
    tensors->erase(tensors->begin(), tensors->begin() + 4);
    return [this, tensors, values, count = block.x.size(), first] {
      for (size_t i = 0; i < count; ++i) sum += values[i] / 3;
      firsts.push_back(first);
    };
  }

  float sum = 0;
  std::vector<int64_t> firsts;
  static inline std::atomic<int64_t> from_heap = 0;

 private:
  struct Tensor {
    explicit Tensor(int64_t bytes) : piece(Slab::take_piece(std::max<int64_t>(bytes, 1))) {
      if (piece.data == nullptr) {
        heap.resize(static_cast<size_t>(bytes) / sizeof(float) + 1);
        ++from_heap;
      }
      values = piece.data == nullptr ? heap.data() : static_cast<float*>(piece.data);
    }
    Tensor(Tensor&& other) noexcept : piece(std::exchange(other.piece, {})), heap(std::move(other.heap)) {
      values = other.values;
    }
    Tensor& operator=(Tensor&& other) noexcept {
      std::swap(piece, other.piece);
      std::swap(heap, other.heap);
      std::swap(values, other.values);
      return *this;
    }
    ~Tensor() {
      if (piece.data != nullptr) Slab::give_piece(piece);
    }
    SlabAllocation piece;
    Vector<float, Tag::activations> heap;
    float* values;
  };
};

// Counts the blocks that were read ahead.
class ReadAheadCount : public SpanSink {
 public:
  void span(int track, const char*, Clock::time_point, Clock::time_point, const Size&) override {
    if (track == kReader) ++blocks;
  }
  std::atomic<int64_t> blocks = 0;
};

class BlockRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    shapes_ = read_shapes(source_, 1);
    batch_.resize(static_cast<size_t>(source_.graphs()));
    std::iota(batch_.begin(), batch_.end(), int64_t{0});
    shuffle(batch_, 3, 1);
    FakeModel::from_heap = 0;
  }

  // Sum over the batch, and bytes of the range that one block needs.
  float expected() {
    BlockRunner runner(source_, shapes_, kLimits, 1, 0);
    FakeModel model;
    runner.run(batch_, [&](const GraphBlock& block, int64_t first) { return model.work(block, first); });
    return model.sum;
  }
  int64_t range_bytes() {
    BlockRunner runner(source_, shapes_, {5, 100'000, 100'000}, 1, 0);
    FakeModel model;
    int64_t max = 0;
    GraphBlock block;
    for (size_t first = 0; first < batch_.size(); first += 5) {
      source_.read(std::span(batch_).subspan(first, 5), block);
      max = std::max(max, packed_as_they_come(runner.record(block, worker(model))));
    }
    return max;
  }
  static BlockRunner::Work worker(FakeModel& model) {
    return [&](const GraphBlock& block, int64_t first) { return model.work(block, first); };
  }

  static constexpr BlockLimits kLimits{5, 100'000, 100'000};
  RandomGraphs source_{400, 50, 7};
  Vector<GraphShape, Tag::columns> shapes_;
  GraphList batch_;
};

TEST_F(BlockRunnerTest, TheSumIsTheSameBitsForAnyThreadsRangesAndPrefetch) {
  const float sum = expected();
  const int64_t bytes = range_bytes();
  FakeModel::from_heap = 0;
  for (const int threads : {1, 2, 4})
    for (const int64_t prefetch : {0, 1, 5})
      for (const int64_t ranges : {1, 2, 4}) {
        BlockRunner runner(source_, shapes_, kLimits, threads, prefetch);
        runner.resize(bytes * ranges);
        const FixedRanges planner(bytes);
        FakeModel model;
        for (int batch = 0; batch < 3; ++batch) {
          model.sum = 0;
          model.firsts.clear();
          runner.expect(batch_);
          runner.run(batch_, worker(model), &planner);
          EXPECT_EQ(model.sum, sum) << threads << " threads, prefetch " << prefetch << ", ranges " << ranges;
          EXPECT_EQ(model.firsts.size(), batch_.size() / 5);
          EXPECT_TRUE(std::is_sorted(model.firsts.begin(), model.firsts.end()));
        }
        EXPECT_EQ(runner.overflows(), 0);
        EXPECT_EQ(runner.reruns(), 0);
      }
  EXPECT_EQ(FakeModel::from_heap, 0);
}

TEST_F(BlockRunnerTest, ARangeThatIsTooSmallOverflowsIntoTheHeapAndChangesNoBit) {
  const float sum = expected();
  const int64_t bytes = range_bytes();
  BlockRunner runner(source_, shapes_, kLimits, 3, 2);
  runner.resize(bytes / 2 * 3);
  const FixedRanges planner(bytes / 2);
  FakeModel model;
  runner.run(batch_, worker(model), &planner);
  EXPECT_EQ(model.sum, sum);
  EXPECT_GT(runner.overflows(), 0);
}

// Counts how often graphs are read.
class CountingSource : public BlockSource {
 public:
  explicit CountingSource(const BlockSource& source) : source_(source) {}
  int64_t graphs() const override { return source_.graphs(); }
  int64_t node_features() const override { return source_.node_features(); }
  int64_t edge_features() const override { return source_.edge_features(); }
  const GraphSetTables& tables() const override { return source_.tables(); }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    ++reads;
    source_.read(graphs, block);
  }
  mutable std::atomic<int64_t> reads = 0;

 private:
  const BlockSource& source_;
};

TEST_F(BlockRunnerTest, BlocksOfAFirstPassThatAreKeptAreNotReadAgain) {
  const float sum = expected();
  const auto blocks = static_cast<int64_t>(batch_.size()) / 5;
  for (const int threads : {1, 3})
    for (const int64_t keep : {int64_t{0}, int64_t{7}, blocks, blocks + 5}) {
      const CountingSource source(source_);
      BlockRunner runner(source, shapes_, kLimits, threads, 0, keep);
      for (int round = 0; round < 2; ++round) {
        source.reads = 0;
        for (const auto pass : {BlockRunner::Pass::first, BlockRunner::Pass::second}) {
          FakeModel model;
          runner.run(batch_, worker(model), nullptr, pass);
          EXPECT_EQ(model.sum, sum) << threads << " threads, " << keep << " kept";
        }
        EXPECT_EQ(source.reads, 2 * blocks - std::min(keep, blocks));
      }
      // The same graphs in another order, at the same address.
      std::ranges::reverse(batch_);
      FakeModel model;
      runner.run(batch_, worker(model), nullptr, BlockRunner::Pass::first);
      std::ranges::reverse(batch_);
      runner.run(batch_, worker(model), nullptr, BlockRunner::Pass::only);
      FakeModel last;
      runner.run(batch_, worker(last), nullptr, BlockRunner::Pass::second);
      EXPECT_EQ(last.sum, sum);
    }
}

// With every cap the sum is the same or the run is refused with a typed error, and the ledger is as before.
TEST_F(BlockRunnerTest, AShortBudgetChangesNoBitAndLeavesNothingBehind) {
  const float sum = expected();
  const int64_t bytes = range_bytes();
  int64_t reruns = 0;
  int refused = 0;
  for (int64_t share = 5; share <= 200; share += 5) {
    Ledger& ledger = Ledger::process();
    BlockRunner runner(source_, shapes_, kLimits, 4, 2);
    runner.resize(bytes / 2);
    const FixedRanges planner(bytes / 2);
    const int64_t held = ledger.held();
    const LedgerCap cap(bytes * share / 100);
    FakeModel model;
    runner.expect(batch_);
    try {
      runner.run(batch_, worker(model), &planner);
      EXPECT_EQ(model.sum, sum) << share;
    } catch (const BudgetExceeded&) {
      ++refused;
      EXPECT_LT(share, 150);
    }
    reruns += runner.reruns();
    runner.forget();
    EXPECT_EQ(ledger.held(Tag::activations), bytes / 2 / 4096 * 4096 + (bytes / 2 % 4096 != 0) * 4096)
        << share;
    EXPECT_LE(ledger.held(), held + 4 * bytes);  // The difference is blocks that workers keep.
  }
  EXPECT_GT(reruns, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(BlockRunnerTest, ABlockThatIsRefusedRunsAloneWithAllBytesWhileYoungerOnesLetGoOfTheirs) {
  BlockRunner runner(source_, shapes_, kLimits, 4, 2);
  runner.resize(4 << 16);
  const FixedRanges planner(1 << 16);
  std::atomic<int> running = 0;
  std::atomic<int> refusals = 0;
  std::vector<int64_t> committed;
  runner.run(
      batch_,
      [&](const GraphBlock&, int64_t first) -> BlockRunner::Commit {
        ++running;
        const std::shared_ptr<int> leave(nullptr, [&](int*) { --running; });
        if (first == 50 && refusals++ == 0) throw BudgetExceeded(Tag::activations, 1, 0, 0);
        if (first == 50) {
          EXPECT_EQ(running, 1) << "it is not alone";
          const SlabAllocation piece = Slab::take_piece(3 << 16);
          EXPECT_NE(piece.data, nullptr) << "it has not got the whole slab";
          Slab::give_piece(piece);
        }
        return [&, first] { committed.push_back(first); };
      },
      &planner);
  EXPECT_EQ(runner.reruns(), 1);
  EXPECT_EQ(committed.size(), batch_.size() / 5);
  EXPECT_TRUE(std::is_sorted(committed.begin(), committed.end()));
  EXPECT_TRUE(std::adjacent_find(committed.begin(), committed.end()) == committed.end()) << "twice";
}

TEST_F(BlockRunnerTest, TheFirstErrorInBlockOrderIsThrownAndNothingIsCommittedBehindIt) {
  BlockRunner runner(source_, shapes_, kLimits, 4, 3);
  runner.expect(batch_);
  std::vector<int64_t> committed;
  const auto run = [&] {
    runner.run(batch_, [&](const GraphBlock&, int64_t first) -> BlockRunner::Commit {
      if (first >= 100) throw Failure(std::to_string(first));
      return [&, first] { committed.push_back(first); };
    });
  };
  try {
    run();
    FAIL() << "no error";
  } catch (const Failure& error) {
    EXPECT_STREQ(error.what(), "100");
  }
  EXPECT_EQ(committed.size(), 20U);
  EXPECT_THROW(run(), Failure);  // The runner can be used again.
}

// Pressure that steps through a list of levels and stays `every` calls at each.
class FakePressure : public Pressure {
 public:
  FakePressure(std::vector<int> levels, int every) : levels_(std::move(levels)), every_(every) {}
  int level() const override { return levels_[static_cast<size_t>(asked_++ / every_) % levels_.size()]; }
  std::string reason() const override { return "made up"; }
  void set_given_back(int64_t bytes) override { given_back = bytes; }
  std::atomic<int64_t> given_back = 0;

 private:
  const std::vector<int> levels_;
  const int every_;
  mutable std::atomic<int> asked_ = 0;
};

TEST_F(BlockRunnerTest, AStopEndsTheBatchAfterTheBlocksInFlight) {
  for (const int threads : {1, 3}) {
    BlockRunner runner(source_, shapes_, {.graphs = 1, .nodes = 1, .edges = 1}, threads, 0);
    std::atomic<bool> stop = false;
    runner.stop_when(&stop);
    std::atomic<int> started = 0;
    const auto work = [&](const GraphBlock&, int64_t) -> BlockRunner::Commit {
      if (++started == 4) stop = true;
      return [] {};
    };
    EXPECT_THROW(runner.run(batch_, work), Interrupted);
    EXPECT_LE(started, 4 + threads);
    stop = false;
    started = 100;
    runner.run(batch_, work);
    EXPECT_EQ(started, 100 + static_cast<int>(batch_.size()));
  }
}

TEST_F(BlockRunnerTest, UnderPressureNoBitChangesWheneverItComesAndGoes) {
  const float sum = expected();
  const int64_t bytes = range_bytes();
  for (const int threads : {1, 2, 4})
    for (const auto& levels : std::vector<std::vector<int>>{{1, 0}, {2, 0}, {1, 2, 0}, {0, 1, 2}, {2}})
      for (const int every : {1, 3, 40}) {
        BlockRunner runner(source_, shapes_, kLimits, threads, 2);
        runner.resize(bytes * threads, {}, bytes);
        const FixedRanges planner(bytes);
        FakePressure pressure(levels, every);
        std::vector<std::string> events;
        runner.watch(&pressure, [&](const BlockRunner::Event& event) { events.emplace_back(event.name); });
        FakeModel model;
        for (int batch = 0; batch < 3; ++batch) {
          model.sum = 0;
          model.firsts.clear();
          runner.expect(batch_);
          runner.run(batch_, worker(model));
          EXPECT_EQ(model.sum, sum) << threads << " threads";
          EXPECT_EQ(model.firsts.size(), batch_.size() / 5);
        }
        EXPECT_GT(runner.sheds(), 0);
        EXPECT_EQ(std::count(events.begin(), events.end(), "pressure"), runner.sheds());
        EXPECT_EQ(runner.reruns(), 0);
      }
}

TEST_F(BlockRunnerTest, UnderPressureOneBlockIsInFlightAndItsMemoryIsGivenBackUntilItIsOver) {
  const int64_t bytes = range_bytes() / 4096 * 4096 + 4096;
  ReadAheadCount ahead;  // It must outlive the thread that reads.
  BlockRunner runner(source_, shapes_, kLimits, 4, 2);
  runner.resize(4 * bytes, {}, bytes);
  const FixedRanges planner(bytes);
  const int64_t held = Ledger::process().held(Tag::activations);
  class Switched : public FakePressure {
   public:
    Switched() : FakePressure({0}, 1) {}
    int level() const override { return now; }
    std::atomic<int> now = 0;
  } pressure;
  std::vector<std::string> events;
  runner.watch(&pressure, [&](const BlockRunner::Event& event) { events.emplace_back(event.name); });
  std::atomic<int> running = 0;
  runner.trace(&ahead);
  FakeModel model;
  const auto run = [&] {
    runner.expect(batch_);
    runner.run(
        batch_,
        [&](const GraphBlock& block, int64_t first) {
          ++running;
          const std::shared_ptr<int> leave(nullptr, [&](int*) { --running; });
          if (pressure.now == 2) {
            EXPECT_EQ(running, 1);
            EXPECT_EQ(Ledger::process().held(Tag::activations), bytes);
          }
          return model.work(block, first);
        },
        &planner);
  };
  run();
  EXPECT_TRUE(events.empty());
  pressure.now = 2;
  const int64_t before = ahead.blocks;
  run();
  EXPECT_LE(ahead.blocks, before + 4) << "two that were held, and two in the place of those";
  EXPECT_EQ(events, (std::vector<std::string>{"pressure", "prefetch_dropped", "blocks_reduced"}));
  EXPECT_EQ(pressure.given_back, 3 * bytes);
  pressure.now = 0;
  run();
  EXPECT_EQ(events.back(), "restored");
  EXPECT_EQ(pressure.given_back, 0);
  EXPECT_EQ(Ledger::process().held(Tag::activations), held);
  EXPECT_EQ(runner.sheds(), 1);
}

TEST_F(BlockRunnerTest, WhatIsNoLongerFreeAfterPressureIsDoneWithout) {
  const float sum = expected();
  const int64_t bytes = range_bytes();
  BlockRunner runner(source_, shapes_, kLimits, 4, 0);
  runner.resize(4 * bytes, {}, bytes);
  const FixedRanges planner(bytes);
  FakePressure pressure({2, 0}, 40);
  std::vector<std::string> events;
  std::optional<LedgerCap> cap;
  runner.watch(&pressure, [&](const BlockRunner::Event& event) {
    events.emplace_back(event.name);
    if (events.back() == "blocks_reduced" && !cap) cap.emplace(bytes);
  });
  FakeModel model;
  runner.run(batch_, worker(model), &planner);
  EXPECT_EQ(model.sum, sum);
  EXPECT_EQ(std::count(events.begin(), events.end(), "restore_refused"), 1) << "once, then it is its size";
}

TEST_F(BlockRunnerTest, ABlockThatIsRefusedEvenAloneSaysWhatItNeeds) {
  BlockRunner runner(source_, shapes_, kLimits, 2, 0);
  runner.resize(2 << 16);
  const FixedRanges planner(1 << 16);
  std::vector<std::string> events;
  runner.watch(nullptr, [&](const BlockRunner::Event& event) { events.emplace_back(event.name); });
  try {
    runner.run(
        batch_,
        [&](const GraphBlock&, int64_t first) -> BlockRunner::Commit {
          if (first < 20) return [] {};
          const SlabAllocation piece = Slab::take_piece((1 << 16) - kTensorHeader);
          const std::shared_ptr<int> give(nullptr, [&](int*) { Slab::give_piece(piece); });
          throw BudgetExceeded(Tag::activations, 1 << 20, 5, 100);
        },
        &planner);
    FAIL() << "no error";
  } catch (const BudgetExceeded& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("a block of 5 graphs that starts with graph " + std::to_string(batch_[20])),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("needs at least 1.06 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("raise the budget by at least"), std::string::npos) << text;
  }
  EXPECT_EQ(events, std::vector<std::string>{"rerun"});
}

TEST_F(BlockRunnerTest, ASmallObjectThatTheSystemRefusesIsARefusalToo) {
  const float sum = expected();
  BlockRunner runner(source_, shapes_, kLimits, 3, 2);
  const int64_t bytes = range_bytes();
  runner.resize(3 * bytes);
  const FixedRanges planner(bytes);
  FakeModel model;
  std::atomic<int> refusals = 0;
  runner.run(
      batch_,
      [&](const GraphBlock& block, int64_t first) {
        if (first == 100 && refusals++ == 0) throw std::bad_alloc();
        return model.work(block, first);
      },
      &planner);
  EXPECT_EQ(model.sum, sum);
  EXPECT_EQ(runner.reruns(), 1);
}

TEST_F(BlockRunnerTest, BlocksAreReadAhead) {
  ReadAheadCount ahead;  // It must outlive the thread that reads.
  BlockRunner runner(source_, shapes_, kLimits, 1, 4);
  runner.trace(&ahead);
  FakeModel model;
  runner.expect(batch_);
  runner.run(batch_, [&](const GraphBlock& block, int64_t first) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return model.work(block, first);
  });
  EXPECT_GT(ahead.blocks, 0);
}

// A source that counts reads and fails for one graph.
class BadGraph : public RandomGraphs {
 public:
  using RandomGraphs::RandomGraphs;
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    if (std::find(graphs.begin(), graphs.end(), 77) != graphs.end()) throw InputError("graph 77 is damaged");
    RandomGraphs::read(graphs, block);
  }
};

TEST_F(BlockRunnerTest, AGraphThatCannotBeReadIsTheErrorOfItsBlock) {
  const BadGraph source(400, 50, 7);
  for (const int64_t prefetch : {0, 4}) {
    BlockRunner runner(source, shapes_, kLimits, 2, prefetch);
    runner.expect(batch_);
    FakeModel model;
    EXPECT_THROW(runner.run(batch_, worker(model)), InputError);
    const auto bad = std::find(batch_.begin(), batch_.end(), 77) - batch_.begin();
    EXPECT_EQ(static_cast<int64_t>(model.firsts.size()), bad / 5);
  }
}

TEST_F(BlockRunnerTest, AnEmptyBatchRunsNothing) {
  BlockRunner runner(source_, shapes_, kLimits, 2, 2);
  runner.run({}, [](const GraphBlock&, int64_t) -> BlockRunner::Commit { throw Failure("ran"); });
}

}  // namespace
}  // namespace plimsoll
