#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/span_sink.h"
#include "base/workers.h"
#include "memory/pressure.h"
#include "memory/slab.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"
#include "sample/block/prefetcher.h"

namespace plimsoll {

/// Computes how much of the slab a block needs before the block is read.
class RangePlanner {
 public:
  virtual ~RangePlanner() = default;
  /// Writes the plan for a block of these graphs to `plan`, whose memory is reused. Thread-safe.
  virtual void plan(std::span<const int64_t> graphs, RangePlan& plan) const = 0;
};

/// Runs the blocks of a batch on worker threads, depth first. A worker takes the next block and a range of
/// the slab for it, works on it alone, and commits its results in block order. Only the blocks in flight need
/// memory, whatever the size of the batch. Results are committed in the same order for any number of threads
/// and any budget.
///
/// A block whose memory is refused runs again. First older blocks finish, and younger ones in flight are
/// abandoned with all their bytes. Then the block runs alone, with the whole slab and everything else the
/// ledger has left. Finally the younger blocks run again. If the block fails alone, too, the caller gets
/// BudgetExceeded.
///
/// While the system is short of memory, whichever process uses it, the runner holds less (watch()). Between
/// two blocks it first drops the blocks read ahead, and then all of the slab except what the largest block
/// needs.
class BlockRunner {
 public:
  /// Action that is executed in block order. It may hold tensors of the block, and lives as long as the
  /// block's memory.
  using Commit = std::function<void()>;
  /// Work on the block whose first graph is graphs[first]. It is called on several threads at once, and may
  /// be called several times for one block.
  using Work = std::function<Commit(const GraphBlock& block, int64_t first)>;

  /// A decision that was made because memory is short.
  struct Event {
    /// One of pressure, prefetch_dropped, blocks_reduced, restored, restore_refused, rerun.
    const char* name;
    std::string reason;  ///< Explanation for the user.
    int64_t slab_bytes;  ///< Size of the slab from now on.
  };
  using OnEvent = std::function<void(const Event&)>;

  /// One pass over graphs that are processed once only, or twice by different kinds of work.
  enum class Pass : uint8_t { only, first, second };

  /// `source` and `shapes` (one entry per graph) must outlive the runner. `keep` is the number of blocks that
  /// a first pass keeps for the second; the other blocks are read again. There is no slab until resize() is
  /// called. Errors: ThreadRefused.
  BlockRunner(const BlockSource& source, const GraphShapes& shapes, const BlockLimits& limits, int threads,
              int64_t prefetch, int64_t keep = 0);

  /// Allocates a slab for the blocks in flight, and space for each worker's graphs. `min_bytes` of the slab
  /// must be enough for any single block; 0: the whole slab. No batch may run. Errors: BudgetExceeded.
  void resize(int64_t slab_bytes, const BlockSize& largest = {}, int64_t min_bytes = 0);

  /// Holds less memory from now on while `pressure` reports that memory is short. `pressure` must outlive the
  /// runner; null disables this. Each decision is reported on the thread that calls run().
  void watch(Pressure* pressure, OnEvent on_event);

  /// Calls `on_read` with each block that is read ahead, on the thread that does it (Prefetcher::on_read).
  void on_read(std::function<void(const GraphBlock&)> on_read) { prefetcher_.on_read(std::move(on_read)); }

  /// Makes run() throw Interrupted before it starts another block once this flag is set; null disables this.
  void stop_when(const std::atomic<bool>* interrupt);

  /// Records the activity of the workers and of the reader in `spans`, which must live as long as the runner
  /// or until the next call of trace(); null disables this. Must not be called while a batch runs.
  void trace(SpanSink* spans);

  /// Lets the source prepare these graphs and those after them (BlockSource::prepare), and lends it all
  /// memory of blocks for this time. No batch may run or be announced. Errors: those of the source;
  /// BudgetExceeded.
  void prepare(std::span<const int64_t> graphs);
  /// Announces the next batch, so that its blocks are read ahead. The graphs must stay unchanged until the
  /// batch has run or forget() is called.
  void expect(std::span<const int64_t> graphs);
  /// Drops the batches that were announced and have not run.
  void forget() { prefetcher_.forget(); }

  /// Runs all blocks of a batch. Without a planner, tensors are on the heap. Errors: the first error of
  /// reading, of the work or of the commits, in block order; Interrupted (stop_when()). Later blocks are then
  /// not committed, and announced batches are dropped.
  void run(std::span<const int64_t> graphs, const Work& work, const RangePlanner* planner = nullptr,
           Pass pass = Pass::only);

  /// Runs one block alone, including its commit, with as much of the slab as it needs. Returns a record of
  /// its allocations and frees. No batch may run. Errors: BudgetExceeded; those of the work and its commit.
  Tape record(const GraphBlock& block, const Work& work, const RangePlan& plan = {});

  /// Number of times that a block had to run again alone.
  int64_t reruns() const { return reruns_; }
  /// Number of times that memory was given back because the system was short of it.
  int64_t sheds() const { return sheds_; }
  /// Number of tensors that did not fit into their block's range and used the heap.
  int64_t overflows() const { return slab_.overflows(); }
  /// Number of blocks whose tensors differed from the plan.
  int64_t unforeseen() const { return slab_.unforeseen(); }
  /// Total time of all workers, in seconds: working on blocks, or waiting for a block to be read, for a range
  /// of the slab, or for older blocks to be committed.
  struct Times {
    double working = 0;
    double reading = 0;
    double memory = 0;
    double order = 0;
  };
  Times times() const;
  int workers() const { return workers_.threads(); }
  const BlockSource& source() const { return source_; }

 private:
  struct Blocks {
    std::span<const int64_t> graphs;
    GraphList begins;
    std::span<const int64_t> of(int64_t block) const;
    int64_t count() const { return static_cast<int64_t>(begins.size()) - 1; }
  };
  Blocks cut(std::span<const int64_t> graphs) const { return {graphs, cut_blocks(graphs, shapes_, limits_)}; }
  void run_together(const Blocks& blocks, int64_t& done, const Work& work, const RangePlanner* planner,
                    Pass pass);
  void read(const Blocks& blocks, int64_t block, Pass pass, int worker);
  void keep(const Blocks& blocks, int64_t block, Pass pass, GraphBlock& graphs);
  void run_alone(std::span<const int64_t> graphs, int64_t first, const Work& work,
                 const RangePlanner* planner);
  bool interrupted() const { return interrupt_ != nullptr && interrupt_->load(); }
  int asked_level() const { return pressure_ == nullptr ? 0 : pressure_->level(); }
  void follow_pressure();
  void restore();
  void drop_blocks();
  int64_t slab_size() const { return level_ < 2 ? slab_bytes_ : std::min(slab_bytes_, min_bytes_); }

  const BlockSource& source_;
  GraphShapes shapes_;
  const BlockLimits limits_;
  int64_t slab_bytes_ = 0;
  int64_t min_bytes_ = 0;
  BlockSize largest_ = {};
  int64_t reruns_ = 0;
  int64_t sheds_ = 0;
  // Activity of a worker; ns_ has the nanoseconds of each.
  enum class Activity : uint8_t { working, reading, memory, order };
  void note(Activity what, int worker, SpanSink::Clock::time_point begin, const GraphBlock* block = nullptr);
  std::array<std::atomic<int64_t>, 4> ns_{};
  SpanSink* spans_ = nullptr;
  int level_ = 0;  // Level of pressure that was handled last; changes only between runs of the workers.
  Pressure* pressure_ = nullptr;
  const std::atomic<bool>* interrupt_ = nullptr;
  OnEvent on_event_ = [](const Event&) {};
  Slab slab_;
  std::vector<GraphBlock> blocks_;  // One per worker; its memory is reused.
  // Blocks kept by a first pass, by their index in that pass; `graphs` is empty if the block was not kept.
  // Only one worker uses each entry at a time.
  struct Kept {
    std::span<const int64_t> graphs;
    GraphBlock block;
  };
  std::vector<Kept> kept_;
  std::vector<RangePlan> plans_;   // One per worker.
  std::vector<SlabRange> ranges_;  // One per worker: the range that it has taken but does not work in yet.
  Prefetcher prefetcher_;
  Workers workers_;
};

}  // namespace plimsoll
