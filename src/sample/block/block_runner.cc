#include "sample/block/block_runner.h"

#include <fmt/format.h>

#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "memory/c_heap.h"

namespace plimsoll {
namespace {

// Restores the size of the slab after a block that used the whole slab.
class SizeScope {
 public:
  SizeScope(Slab& slab, int64_t bytes) : slab_(slab), bytes_(bytes) {}
  ~SizeScope() {
    try {
      slab_.resize(bytes_);
    } catch (const Error&) {
      // A tensor outlived its block; the error is reported when the next range is taken.
    }
  }

 private:
  Slab& slab_;
  const int64_t bytes_;
};

// The system may also refuse memory that is not in the ledger, such as that of small objects, one page at a
// time.
template <typename Function>
auto with_typed_refusals(const Function& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    constexpr int64_t kPage = 4096;
    throw BudgetExceeded(Tag::other, kPage, 0, Ledger::process().cap());
  }
}

// Assigns the activity of the calling thread to a worker.
class WorkerScope {
 public:
  explicit WorkerScope(int worker) : before_(std::exchange(SpanSink::of_this_thread(), worker)) {}
  ~WorkerScope() { SpanSink::of_this_thread() = before_; }
  WorkerScope(const WorkerScope&) = delete;
  WorkerScope& operator=(const WorkerScope&) = delete;

 private:
  const int before_;
};

}  // namespace

BlockRunner::BlockRunner(const BlockSource& source, const GraphShapes& shapes, const BlockLimits& limits,
                         int threads, int64_t prefetch, int64_t keep)
    : source_(source),
      shapes_(shapes),
      limits_(limits),
      blocks_(static_cast<size_t>(threads)),
      kept_(static_cast<size_t>(keep)),
      plans_(static_cast<size_t>(threads)),
      ranges_(static_cast<size_t>(threads)),
      prefetcher_(source, shapes, prefetch),
      workers_(threads) {}

void BlockRunner::resize(int64_t slab_bytes, const BlockSize& largest, int64_t min_bytes) {
  for (GraphBlock& block : blocks_) block.make_room(largest, source_.room());
  for (Kept& kept : kept_) kept.block.make_room(largest, source_.room());
  prefetcher_.make_room(largest);
  slab_.resize(slab_bytes);
  slab_bytes_ = slab_.bytes();
  min_bytes_ = min_bytes > 0 ? min_bytes : slab_bytes_;
  largest_ = largest;
}

void BlockRunner::prepare(std::span<const int64_t> graphs) {
  bool is_lent = false;
  source_.prepare(graphs, [&] {
    is_lent = true;
    drop_blocks();
    slab_.resize(0);
    give_back_freed_memory();
  });
  if (!is_lent) return;
  give_back_freed_memory();
  slab_.resize(slab_size());
  if (level_ > 0) return;  // While memory is short, the memory of blocks grows only as they are read.
  for (GraphBlock& block : blocks_) block.make_room(largest_, source_.room());
  for (Kept& kept : kept_) kept.block.make_room(largest_, source_.room());
}

std::span<const int64_t> BlockRunner::Blocks::of(int64_t block) const {
  const auto b = static_cast<size_t>(block);
  return graphs.subspan(static_cast<size_t>(begins[b]), static_cast<size_t>(begins[b + 1] - begins[b]));
}

void BlockRunner::expect(std::span<const int64_t> graphs) {
  if (!graphs.empty() && level_ == 0) prefetcher_.expect(graphs, cut(graphs).begins);
}

void BlockRunner::watch(Pressure* pressure, OnEvent on_event) {
  pressure_ = pressure;
  on_event_ = std::move(on_event);
}

void BlockRunner::stop_when(const std::atomic<bool>* interrupt) {
  interrupt_ = interrupt;
}

// Called while no block is in flight.
void BlockRunner::follow_pressure() {
  const int level = asked_level();
  if (level == level_) return;
  const int before = std::exchange(level_, level);
  if (level == 0) {
    restore();
    return;
  }
  const std::string reason = pressure_->reason();
  if (before == 0) {
    ++sheds_;
    on_event_({"pressure", reason, slab_.bytes()});
    prefetcher_.drop();
    on_event_({"prefetch_dropped", reason, slab_.bytes()});
  }
  if (level == 2) {
    drop_blocks();
    slab_.resize(slab_size());
    pressure_->set_given_back(slab_bytes_ - slab_size());
    give_back_freed_memory();
    on_event_({"blocks_reduced", reason, slab_.bytes()});
  }
}

void BlockRunner::restore() {
  const std::string reason = "it has ended: " + pressure_->reason();
  pressure_->set_given_back(0);
  try {
    slab_.resize(slab_bytes_);
    on_event_({"restored", reason, slab_.bytes()});
  } catch (const BudgetExceeded& error) {
    slab_bytes_ = slab_.bytes();  // The slab stays small, so fewer blocks are in flight; results do not
                                  // change.
    on_event_({"restore_refused", error.what(), slab_.bytes()});
  }
}

void BlockRunner::drop_blocks() {
  prefetcher_.drop();
  for (GraphBlock& block : blocks_) block = GraphBlock();
  for (Kept& kept : kept_) kept = Kept();
}

// Swaps memory: the graphs that a worker has read are kept, and the worker gets the memory of the graphs that
// were kept before.
void BlockRunner::keep(const Blocks& blocks, int64_t block, Pass pass, GraphBlock& graphs) {
  if (pass != Pass::first || block >= static_cast<int64_t>(kept_.size()) || level_ > 0) return;
  Kept& kept = kept_[static_cast<size_t>(block)];
  std::swap(kept.block, graphs);
  kept.graphs = blocks.of(block);
}

void BlockRunner::read(const Blocks& blocks, int64_t block, Pass pass, int worker) {
  GraphBlock& graphs = blocks_[static_cast<size_t>(worker)];
  const std::span<const int64_t> indices = blocks.of(block);
  if (pass == Pass::second && block < static_cast<int64_t>(kept_.size())) {
    Kept& kept = kept_[static_cast<size_t>(block)];
    if (kept.graphs.data() == indices.data() && kept.graphs.size() == indices.size()) {
      std::swap(kept.block, graphs);
      kept.graphs = {};
      return;
    }
  }
  const auto start = SpanSink::Clock::now();
  prefetcher_.read(indices, graphs);
  note(Activity::reading, worker, start, &graphs);
}

void BlockRunner::note(Activity what, int worker, SpanSink::Clock::time_point begin,
                       const GraphBlock* block) {
  static constexpr std::array<const char*, 4> kNames = {"work on block", "wait for graphs", "wait for memory",
                                                        "wait for older blocks"};
  const auto end = SpanSink::Clock::now();
  const auto index = static_cast<size_t>(what);
  ns_[index].fetch_add(std::chrono::nanoseconds(end - begin).count(), std::memory_order_relaxed);
  if (spans_ == nullptr) return;
  SpanSink::Size size;
  if (block != nullptr) size = {block->graphs(), block->nodes(), block->edge_count()};
  spans_->span(worker, kNames[index], begin, end, size);
}

BlockRunner::Times BlockRunner::times() const {
  const auto seconds = [&](Activity what) {
    return 1e-9 * static_cast<double>(ns_[static_cast<size_t>(what)].load());
  };
  return {seconds(Activity::working), seconds(Activity::reading), seconds(Activity::memory),
          seconds(Activity::order)};
}

void BlockRunner::trace(SpanSink* spans) {
  spans_ = spans;
  prefetcher_.trace(spans);
}

void BlockRunner::run(std::span<const int64_t> graphs, const Work& work, const RangePlanner* planner,
                      Pass pass) {
  const Blocks blocks = cut(graphs);
  if (pass != Pass::second)
    for (Kept& kept : kept_) kept.graphs = {};
  try {
    for (int64_t done = 0; done < blocks.count();) {
      std::string reason;
      if (interrupted()) throw Interrupted("interrupted between two blocks");
      try {
        follow_pressure();
        run_together(blocks, done, work, planner, pass);
        continue;
      } catch (const BudgetExceeded& error) {
        reason = error.what();
      }
      drop_blocks();
      ++reruns_;
      on_event_({"rerun", reason, slab_size()});
      run_alone(blocks.of(done), blocks.begins[static_cast<size_t>(done)], work, planner);
      ++done;
    }
  } catch (...) {
    prefetcher_.forget();
    throw;
  }
}

void BlockRunner::run_together(const Blocks& blocks, int64_t& done, const Work& work,
                               const RangePlanner* planner, Pass pass) {
  const int64_t start = done;
  workers_.run_stream(
      [&](int64_t item, int worker) {
        if (interrupted() || start + item == blocks.count() || (item > 0 && asked_level() != level_))
          return false;
        const auto w = static_cast<size_t>(worker);
        if (level_ == 2) blocks_[w] = GraphBlock();
        if (planner != nullptr) planner->plan(blocks.of(start + item), plans_[w]);
        const auto started = SpanSink::Clock::now();
        ranges_[w] = slab_.take(plans_[w]);
        note(Activity::memory, worker, started);
        return true;
      },
      [&](int64_t item, Turn& turn) {
        const auto worker = static_cast<size_t>(turn.worker());
        const int64_t b = start + item;
        // The range is destroyed last, because it holds the tensors that the block's work leaves behind.
        const SlabRange range = std::exchange(ranges_[worker], SlabRange());
        std::optional<RangeScope> scope;
        if (slab_.bytes() > 0) scope.emplace(range);
        const Commit commit = with_typed_refusals([&] {
          read(blocks, b, pass, turn.worker());
          const WorkerScope scope_of_spans(turn.worker());
          const auto started = SpanSink::Clock::now();
          Commit made = work(blocks_[worker], blocks.begins[static_cast<size_t>(b)]);
          note(Activity::working, turn.worker(), started, &blocks_[worker]);
          return made;
        });
        const auto done_at = SpanSink::Clock::now();
        turn.wait();
        note(Activity::order, turn.worker(), done_at);
        commit();
        keep(blocks, b, pass, blocks_[worker]);
        done = b + 1;
      });
}

void BlockRunner::run_alone(std::span<const int64_t> graphs, int64_t first, const Work& work,
                            const RangePlanner* planner) {
  const SizeScope size(slab_, slab_size());
  if (planner != nullptr) planner->plan(graphs, plans_[0]);
  int64_t high = 0;
  try {
    const SlabRange range = slab_.take_all(plans_[0]);
    try {
      const RangeScope scope(range);
      with_typed_refusals([&] {
        prefetcher_.read(graphs, blocks_[0]);
        return work(blocks_[0], first);
      })();
    } catch (const BudgetExceeded&) {
      high = range.high();
      throw;
    }
  } catch (const BudgetExceeded& error) {
    throw BudgetExceeded(
        fmt::format(
            "a block of {} graphs that starts with graph {} needs at least {} and does not fit even alone",
            graphs.size(), graphs[0], format_bytes(std::max(plans_[0].bytes, high + error.bytes_asked()))),
        error);
  }
}

Tape BlockRunner::record(const GraphBlock& block, const Work& work, const RangePlan& plan) {
  const SizeScope size(slab_, slab_size());
  SlabRange range = slab_.take_all(plan);
  range.record();
  const RangeScope scope(range);
  work(block, 0)();
  return range.tape();
}

}  // namespace plimsoll
