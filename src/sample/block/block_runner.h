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

/// Says how much of the slab a block needs, before it is read.
class RangePlanner {
 public:
  virtual ~RangePlanner() = default;
  /// Of the block of these graphs, into `plan`, whose memory is used again. Thread-safe.
  virtual void plan(std::span<const int64_t> graphs, RangePlan& plan) const = 0;
};

/// Runs the blocks of a batch on worker threads, depth first: a worker takes the next block and a range of
/// the slab for it, works on it alone, and hands over what it found in the order of the blocks. Memory is
/// that of the blocks in flight, whatever the batch; what is handed over comes in the same order for any
/// number of threads and any budget.
///
/// A block whose memory is refused runs again: older blocks end, younger ones under way are abandoned with
/// all their bytes, the block runs alone with the whole slab and what else the ledger has, and then the
/// younger ones run again. If that fails too, BudgetExceeded reaches the caller.
///
/// While the system is short of memory, whoever took it, the runner holds less (watch()): between two blocks
/// it drops what was read ahead, then all of the slab but what the largest block needs, until it is over.
class BlockRunner {
 public:
  /// What is done in the order of the blocks; it may hold tensors of the block, and lives as long as the
  /// block's memory.
  using Commit = std::function<void()>;
  /// Work on the block whose first graph is graphs[first]; called from several threads at once, for the same
  /// block perhaps more than once.
  using Work = std::function<Commit(const GraphBlock& block, int64_t first)>;

  /// A decision for want of memory.
  struct Event {
    const char* name;    ///< pressure, prefetch_dropped, blocks_reduced, restored, restore_refused, rerun
    std::string reason;  ///< in words
    int64_t slab_bytes;  ///< from now on
  };
  using Tell = std::function<void(const Event&)>;

  /// Of graphs that go through twice, by one kind of work and then by another.
  enum class Pass : uint8_t { only, first, second };

  /// `source` and `shapes` (an entry for each graph) must outlive the runner. `keep`: how many blocks of a
  /// first pass are kept for the second; others are read again. Until resize() is called there is no slab.
  BlockRunner(const BlockSource& source, std::span<const GraphShape> shapes, const BlockLimits& limits,
              int threads, int64_t prefetch, int64_t keep = 0);

  /// A slab for the blocks in flight, and room for each worker's graphs; `min_bytes` of it are enough for
  /// any one block. Errors: BudgetExceeded.
  void resize(int64_t slab_bytes, const BlockSize& largest = {}, int64_t min_bytes = 0);

  /// From now on holds less while there is `pressure`, which must outlive the runner; null: never. Each
  /// decision is told on the thread that calls run().
  void watch(Pressure* pressure, Tell tell);

  /// From now on run() throws Interrupted once this is set, before it starts another block; null: never.
  void stop_when(const std::atomic<bool>* interrupt);

  /// From now on tells `spans`, which must outlive its use, what workers and the reader do; null: nobody. Not
  /// while a batch runs.
  void trace(SpanSink* spans);

  /// Announces the next batch, so that its blocks are read ahead. The graphs must stay as they are until it
  /// has run, or forget() is called.
  void expect(std::span<const int64_t> graphs);
  void forget() { prefetcher_.forget(); }

  /// Without a planner tensors come from the heap. Errors: the first of the work or the commits, in the order
  /// of the blocks; later blocks are not committed.
  void run(std::span<const int64_t> graphs, const Work& work, const RangePlanner* planner = nullptr,
           Pass pass = Pass::only);

  /// Runs one block alone, commit included, in as much of the slab as it needs, and returns what it took and
  /// gave. Errors: BudgetExceeded.
  Tape record(const GraphBlock& block, const Work& work, const RangePlan& plan = {});

  /// How often a block had to run again alone.
  int64_t reruns() const { return reruns_; }
  /// How often memory was given back because the system was short of it.
  int64_t sheds() const { return sheds_; }
  /// Tensors that found no room in their block's range and came from the heap.
  int64_t overflows() const { return slab_.overflows(); }
  /// Blocks whose tensors were not as planned.
  int64_t unforeseen() const { return slab_.unforeseen(); }
  /// What workers did with their time, in seconds of all together: worked on blocks, or waited until a block
  /// was read, for a range of the slab, or for older blocks to be handed over.
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
  std::span<const GraphShape> shapes_;
  const BlockLimits limits_;
  int64_t slab_bytes_ = 0;
  int64_t min_bytes_ = 0;
  int64_t reruns_ = 0;
  int64_t sheds_ = 0;
  // What workers do, by the nanoseconds that it took.
  enum class Doing : uint8_t { working, reading, memory, order };
  void note(Doing what, int worker, SpanSink::Clock::time_point begin, const GraphBlock* block = nullptr);
  std::array<std::atomic<int64_t>, 4> ns_{};
  SpanSink* spans_ = nullptr;
  int level_ = 0;  // of pressure, as followed; changes between runs of the workers
  Pressure* pressure_ = nullptr;
  const std::atomic<bool>* interrupt_ = nullptr;
  Tell tell_ = [](const Event&) {};
  Slab slab_;
  std::vector<GraphBlock> blocks_;  // one a worker: its memory is used again and again
  // Blocks of a first pass, by their place in it; without graphs where there is none. Each is one worker's.
  struct Kept {
    std::span<const int64_t> graphs;
    GraphBlock block;
  };
  std::vector<Kept> kept_;
  std::vector<RangePlan> plans_;   // one a worker
  std::vector<SlabRange> ranges_;  // one a worker: taken and not yet worked in
  Prefetcher prefetcher_;
  Workers workers_;
};

}  // namespace plimsoll
