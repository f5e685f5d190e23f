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

// What one block in flight takes.
struct BlockBytes {
  int64_t range = 0;  // of the slab
  BlockSize size;

  BlockBytes most(const BlockBytes& other) const {
    return {std::max(range, other.range),
            {std::max(size.graphs, other.size.graphs), std::max(size.nodes, other.size.nodes),
             std::max(size.edges, other.size.edges)}};
  }
};

std::string describe(const BlockSize& size) {
  return fmt::format("the largest block ({} graphs, {} nodes and edges) does not fit", size.graphs,
                     format_count(size.nodes + size.edges));
}

// Another block may have a few more edges to fewer nodes than the one that was measured.
int64_t with_room(int64_t range) {
  constexpr int64_t kPage = 4096;
  return (range + range / 16 + kPage) / kPage * kPage;
}

[[noreturn]] void throw_too_small(const std::string& what, int64_t needed, int64_t missing) {
  throw BudgetTooSmall(fmt::format("{}: it needs about {}; raise --budget by {}, or lower training.block",
                                   what, format_bytes(needed),
                                   format_bytes(std::max<int64_t>(missing + missing / 8, kMiB))));
}

class Preflight {
 public:
  Preflight(const BlockSource& source, std::span<const GraphShape> shapes, const Objective& objective,
            const BlockLimits& limits, bool recompute = false)
      : source_(source),
        shapes_(shapes),
        limits_(limits),
        engine_(source, shapes, objective, limits, {.recompute = recompute}) {}

  // The largest block of these graphs.
  BlockBytes measure(std::span<const int64_t> graphs, bool training) {
    if (graphs.empty()) return {};
    const GraphList block = largest_block(graphs, shapes_, limits_);
    BlockSize size;
    for (const int64_t g : block) size.add(shapes_[static_cast<size_t>(g)]);
    try {
      return {engine_.measure(block, training), size};
    } catch (const BudgetExceeded&) {
      refuse(block, training);
    }
  }

 private:
  // Smaller and smaller parts of the block until one fits; its bytes tell what the whole would need.
  [[noreturn]] void refuse(std::span<const int64_t> block, bool training) {
    const Ledger& ledger = Ledger::process();
    BlockSize size;
    for (const int64_t g : block) size.add(shapes_[static_cast<size_t>(g)]);
    const std::string what = describe(size);
    for (size_t count = block.size() / 2; count > 0; count /= 2) {
      const std::span<const int64_t> part = block.first(count);
      try {
        const int64_t bytes = engine_.measure(part, training);
        const double whole = static_cast<double>(bytes) * static_cast<double>(size_of(block, shapes_)) /
                             static_cast<double>(std::max<int64_t>(size_of(part, shapes_), 1));
        const int64_t needed = with_room(static_cast<int64_t>(whole)) +
                               GraphBlock::bytes_for(size, source_.node_features(), source_.edge_features());
        throw_too_small(what, needed, needed - (ledger.cap() - ledger.held()));
      } catch (const BudgetExceeded&) {
      }
    }
    throw BudgetTooSmall(what + ", nor does a single graph of it; raise --budget");
  }

  const BlockSource& source_;
  std::span<const GraphShape> shapes_;
  BlockLimits limits_;
  BlockEngine engine_;
};

// `gradients`: what the engine itself will take.
Flight divide(const BlockBytes& bytes, const BlockSource& source, int64_t gradients, int threads,
              int64_t prefetch) {
  const int64_t graphs = GraphBlock::bytes_for(bytes.size, source.node_features(), source.edge_features());
  give_back_freed_memory();
  const Ledger& ledger = Ledger::process();
  const int64_t left = std::max<int64_t>(ledger.cap() - ledger.held() - gradients, 0);
  Flight flight;
  flight.largest = bytes.size;
  flight.range_bytes = with_room(bytes.range);
  const int64_t one = flight.range_bytes + graphs;
  if (left < one) throw_too_small(describe(bytes.size), one, one - left);
  flight.blocks = static_cast<int>(std::clamp<int64_t>(left / one, 1, threads));
  flight.prefetch =
      std::clamp<int64_t>((left - flight.blocks * one) / std::max<int64_t>(graphs, 1), 0, prefetch);
  return flight;
}

int64_t gradient_bytes(const Objective& objective) {
  return objective.parameters().count() * int64_t{sizeof(float)};
}

}  // namespace

Flight plan_flight(const BlockSource& source, std::span<const GraphShape> shapes, const Objective& objective,
                   const BlockLimits& limits, const TrainingSplit& split, int threads, int64_t prefetch,
                   bool recompute) {
  BlockBytes bytes;
  {
    Preflight preflight(source, shapes, objective, limits, recompute);
    bytes = preflight.measure(split.training, true).most(preflight.measure(split.validation, false));
  }
  Flight flight = divide(bytes, source, gradient_bytes(objective), threads, prefetch);
  flight.recompute = recompute;
  return flight;
}

Flight plan_prediction(const BlockSource& source, std::span<const GraphShape> shapes,
                       const Objective& objective, const BlockLimits& limits, std::span<const int64_t> graphs,
                       int threads, int64_t prefetch) {
  BlockBytes bytes;
  {
    Preflight preflight(source, shapes, objective, limits);
    bytes = preflight.measure(graphs, false);
  }
  return divide(bytes, source, gradient_bytes(objective), threads, prefetch);
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
