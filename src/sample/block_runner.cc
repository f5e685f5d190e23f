#include "sample/block_runner.h"

#include <utility>

namespace plimsoll {

BlockRunner::BlockRunner(const BlockSource& source, std::span<const GraphShape> shapes,
                         const BlockLimits& limits, int threads, int64_t prefetch)
    : source_(source),
      shapes_(shapes),
      limits_(limits),
      blocks_(static_cast<size_t>(threads)),
      ranges_(static_cast<size_t>(threads)),
      prefetcher_(source, shapes, prefetch),
      workers_(threads) {}

void BlockRunner::resize(int64_t range_bytes, int64_t ranges, const BlockSize& largest) {
  for (GraphBlock& block : blocks_)
    block.make_room(largest, source_.node_features(), source_.edge_features());
  slab_.resize(range_bytes * ranges);
  range_bytes_ = range_bytes;
  slab_bytes_ = slab_.bytes();
}

std::span<const int64_t> BlockRunner::Blocks::of(int64_t block) const {
  const auto b = static_cast<size_t>(block);
  return graphs.subspan(static_cast<size_t>(begins[b]), static_cast<size_t>(begins[b + 1] - begins[b]));
}

void BlockRunner::expect(std::span<const int64_t> graphs) {
  if (!graphs.empty()) prefetcher_.expect(graphs, cut(graphs).begins);
}

void BlockRunner::run(std::span<const int64_t> graphs, const Work& work) {
  const Blocks blocks = cut(graphs);
  try {
    for (int64_t done = 0; done < blocks.count();) {
      try {
        run_together(blocks, done, work);
        continue;
      } catch (const BudgetExceeded&) {
        prefetcher_.forget();
        for (GraphBlock& block : blocks_) block = GraphBlock();
      }
      ++reruns_;
      measure(blocks.of(done), blocks.begins[static_cast<size_t>(done)], work);
      ++done;
    }
  } catch (...) {
    prefetcher_.forget();
    throw;
  }
}

void BlockRunner::run_together(const Blocks& blocks, int64_t& done, const Work& work) {
  const int64_t start = done;
  workers_.run_stream(
      [&](int64_t item, int worker) {
        if (start + item == blocks.count()) return false;
        ranges_[static_cast<size_t>(worker)] = slab_.take(range_bytes_);
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

int64_t BlockRunner::run_alone(std::span<const int64_t> graphs, int64_t first, const Work& work) {
  const SlabRange range = slab_.take_all();
  prefetcher_.read(graphs, blocks_[0]);
  const RangeScope scope(range);
  work(blocks_[0], first)();
  return range.high();
}

int64_t BlockRunner::measure(std::span<const int64_t> graphs, int64_t first, const Work& work) {
  int64_t bytes = 0;
  try {
    bytes = run_alone(graphs, first, work);
  } catch (...) {
    slab_.resize(slab_bytes_);
    throw;
  }
  slab_.resize(slab_bytes_);
  return bytes;
}

}  // namespace plimsoll
