#include "sample/block_runner.h"

#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

// The slab as it was, whatever a block that had all of it made of it.
class SizeScope {
 public:
  SizeScope(Slab& slab, int64_t bytes) : slab_(slab), bytes_(bytes) {}
  ~SizeScope() {
    try {
      slab_.resize(bytes_);
    } catch (const Failure&) {
      // Tensors outlive their block: whoever takes the next range says so.
    }
  }

 private:
  Slab& slab_;
  const int64_t bytes_;
};

}  // namespace

BlockRunner::BlockRunner(const BlockSource& source, std::span<const GraphShape> shapes,
                         const BlockLimits& limits, int threads, int64_t prefetch)
    : source_(source),
      shapes_(shapes),
      limits_(limits),
      blocks_(static_cast<size_t>(threads)),
      plans_(static_cast<size_t>(threads)),
      ranges_(static_cast<size_t>(threads)),
      prefetcher_(source, shapes, prefetch),
      workers_(threads) {}

void BlockRunner::resize(int64_t slab_bytes, const BlockSize& largest) {
  for (GraphBlock& block : blocks_)
    block.make_room(largest, source_.node_features(), source_.edge_features());
  slab_.resize(slab_bytes);
  slab_bytes_ = slab_.bytes();
}

std::span<const int64_t> BlockRunner::Blocks::of(int64_t block) const {
  const auto b = static_cast<size_t>(block);
  return graphs.subspan(static_cast<size_t>(begins[b]), static_cast<size_t>(begins[b + 1] - begins[b]));
}

void BlockRunner::expect(std::span<const int64_t> graphs) {
  if (!graphs.empty()) prefetcher_.expect(graphs, cut(graphs).begins);
}

void BlockRunner::run(std::span<const int64_t> graphs, const Work& work, const RangePlanner* planner) {
  const Blocks blocks = cut(graphs);
  try {
    for (int64_t done = 0; done < blocks.count();) {
      try {
        run_together(blocks, done, work, planner);
        continue;
      } catch (const BudgetExceeded&) {
        prefetcher_.forget();
        for (GraphBlock& block : blocks_) block = GraphBlock();
      }
      ++reruns_;
      run_alone(blocks.of(done), blocks.begins[static_cast<size_t>(done)], work, planner);
      ++done;
    }
  } catch (...) {
    prefetcher_.forget();
    throw;
  }
}

void BlockRunner::run_together(const Blocks& blocks, int64_t& done, const Work& work,
                               const RangePlanner* planner) {
  const int64_t start = done;
  workers_.run_stream(
      [&](int64_t item, int worker) {
        if (start + item == blocks.count()) return false;
        const auto w = static_cast<size_t>(worker);
        if (planner != nullptr) planner->plan(blocks.of(start + item), plans_[w]);
        ranges_[w] = slab_.take(plans_[w]);
        return true;
      },
      [&](int64_t item, Turn& turn) {
        const auto worker = static_cast<size_t>(turn.worker());
        const int64_t b = start + item;
        // The range ends last: what the block's work leaves behind lies in it.
        const SlabRange range = std::exchange(ranges_[worker], SlabRange());
        prefetcher_.read(blocks.of(b), blocks_[worker]);
        const RangeScope scope(range);
        const Commit commit = work(blocks_[worker], blocks.begins[static_cast<size_t>(b)]);
        turn.wait();
        commit();
        done = b + 1;
      });
}

void BlockRunner::run_alone(std::span<const int64_t> graphs, int64_t first, const Work& work,
                            const RangePlanner* planner) {
  const SizeScope size(slab_, slab_bytes_);
  if (planner != nullptr) planner->plan(graphs, plans_[0]);
  const SlabRange range = slab_.take_all(plans_[0]);
  prefetcher_.read(graphs, blocks_[0]);
  const RangeScope scope(range);
  work(blocks_[0], first)();
}

Tape BlockRunner::record(const GraphBlock& block, const Work& work, const RangePlan& plan) {
  const SizeScope size(slab_, slab_bytes_);
  SlabRange range = slab_.take_all(plan);
  range.record();
  const RangeScope scope(range);
  work(block, 0)();
  return range.tape();
}

}  // namespace plimsoll
