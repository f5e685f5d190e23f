#include "train/preflight.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <barrier>

#include "memory/c_heap.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

int64_t size_of(const GraphShape& shape) {
  return shape.nodes + shape.edges;
}

int64_t size_of(std::span<const int64_t> graphs, std::span<const GraphShape> shapes) {
  int64_t size = 0;
  for (const int64_t g : graphs) size += size_of(shapes[static_cast<size_t>(g)]);
  return size;
}

// The graphs in descending order of size, cut where the first block closes.
GraphList largest_block(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                        const BlockLimits& limits) {
  GraphList largest(graphs.begin(), graphs.end());
  std::sort(largest.begin(), largest.end(), [&](int64_t a, int64_t b) {
    return std::pair(-size_of(shapes[static_cast<size_t>(a)]), a) <
           std::pair(-size_of(shapes[static_cast<size_t>(b)]), b);
  });
  largest.resize(static_cast<size_t>(cut_blocks(largest, shapes, limits)[1]));
  return largest;
}

// The bytes that one block adds to the ledger while it runs.
int64_t run_once(BlockEngine& engine, std::span<const int64_t> block, bool training) {
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held();
  ledger.begin_recent();
  if (training) {
    engine.gradient(block, {.training = true});
  } else {
    std::vector<float> scores(block.size());
    engine.score(block, scores);
  }
  return std::max<int64_t>(ledger.recent_peak() - before, 1);
}

// Smaller and smaller parts of the block until one fits; its bytes tell what the whole would need.
[[noreturn]] void refuse(BlockEngine& engine, std::span<const int64_t> block,
                         std::span<const GraphShape> shapes, bool training) {
  const Ledger& ledger = Ledger::process();
  const std::string what = fmt::format("the largest block ({} graphs, {} nodes and edges) does not fit",
                                       block.size(), format_count(size_of(block, shapes)));
  for (size_t count = block.size() / 2; count > 0; count /= 2) {
    const std::span<const int64_t> part = block.first(count);
    try {
      const int64_t bytes = run_once(engine, part, training);
      const double whole = static_cast<double>(bytes) * static_cast<double>(size_of(block, shapes)) /
                           static_cast<double>(size_of(part, shapes));
      const int64_t missing = static_cast<int64_t>(whole) - (ledger.cap() - ledger.held());
      throw BudgetTooSmall(fmt::format("{}: it needs about {}; raise --budget by {}, or lower training.block",
                                       what, format_bytes(static_cast<int64_t>(whole)),
                                       format_bytes(std::max<int64_t>(missing + missing / 8, kMiB))));
    } catch (const BudgetExceeded&) {
    }
  }
  throw BudgetTooSmall(what + ", nor does a single graph of it; raise --budget");
}

}  // namespace

int blocks_in_flight(const BlockSource& source, std::span<const GraphShape> shapes, const GraphModel& model,
                     const BlockLimits& limits, std::span<const int64_t> graphs, bool training, int threads) {
  if (graphs.empty()) return 1;
  BlockEngine engine(source, shapes, model, limits, 1);
  const GraphList block = largest_block(graphs, shapes, limits);
  int64_t bytes = 0;
  try {
    bytes = run_once(engine, block, training);
  } catch (const BudgetExceeded&) {
    refuse(engine, block, shapes, training);
  }
  give_back_freed_memory();
  const Ledger& ledger = Ledger::process();
  // The heap of a worker keeps what its largest block needed, and a little that is lost between pieces.
  const int64_t kept = bytes + bytes / 16;
  return static_cast<int>(std::clamp<int64_t>((ledger.cap() - ledger.held()) / kept, 1, threads));
}

void warm_up_torch(int threads) {
  at::set_num_threads(1);          // one thread a worker: the order of every sum is fixed
  std::barrier everyone(threads);  // so that no thread does two items
  Workers workers(threads);
  workers.run_ordered(threads, [&](int64_t, Turn&) {
    everyone.arrive_and_wait();
    const at::Tensor weight = at::ones({96, 96}).set_requires_grad(true);
    const at::Tensor index = at::zeros({256}, at::kLong);
    const at::Tensor sums = at::zeros({256, 96}).index_add(0, index, at::mm(at::ones({256, 96}), weight));
    torch::autograd::grad({at::log_softmax(sums, 1).sum()}, {weight});
  });
}

}  // namespace plimsoll
