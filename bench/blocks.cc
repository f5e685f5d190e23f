// Measures how fast blocks are made for training: graphs per second of one core's time, read and collated, in
// blocks of 64 windows in shuffled order.
//
//     bench_blocks GRAPH_SET FRAMES     the same compat windows, on disk and made from frames
//
// Prints one line of JSON per source: the rate of reading alone, of reading and collating for a classifier,
// and for an autoencoder, which also lists neighbours.

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "can/windows/windows.h"
#include "engine/blocks/collate.h"
#include "engine/plan/warm_up.h"
#include "ops/allocator.h"
#include "sample/block/batches.h"
#include "sample/block/graph_set_source.h"

namespace plimsoll {
namespace {

constexpr size_t kBlock = 64;
constexpr int kRounds = 9;

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Returns graphs per second of one pass over all graphs; `use` gets each block.
template <typename Use>
double pass(const BlockSource& source, const GraphList& order, GraphBlock& block, const Use& use) {
  const double start = processor_seconds();
  for (size_t first = 0; first < order.size(); first += kBlock) {
    source.read(std::span(order).subspan(first, std::min(kBlock, order.size() - first)), block);
    use(block);
  }
  return static_cast<double>(order.size()) / (processor_seconds() - start);
}

template <typename Use>
double best(const BlockSource& source, const GraphList& order, const Use& use) {
  GraphBlock block;
  double max = 0;
  for (int round = 0; round < kRounds; ++round) max = std::max(max, pass(source, order, block, use));
  return max;
}

void measure(const char* name, const BlockSource& source) {
  GraphList order;
  for (const GraphRange& split : source.tables().splits)
    for (int64_t g = 0; split.name.starts_with("train") && g < split.graphs; ++g)
      order.push_back(split.first_graph + g);
  shuffle(order, 1, 1);
  const auto collated = [&](const CollateOptions& options) {
    return best(source, order, [&](const GraphBlock& block) { collate(block, source.widths(), options); });
  };
  fmt::print(
      "{{\"source\": \"{}\", \"graphs\": {}, \"read\": {:.0f}, \"classifier\": {:.0f}, \"autoencoder\": "
      "{:.0f}}}\n",
      name, order.size(), best(source, order, [](const GraphBlock&) {}), collated({}),
      collated({.items = Items::nodes, .neighbour_ids = true}));
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  using namespace plimsoll;
  if (argc != 3) {
    fmt::print(stderr, "usage: blocks GRAPH_SET FRAMES\n");
    return 2;
  }
  install_ledger_allocator();
  warm_up_torch(1);
  measure("graph_set", GraphSetSource(argv[1]));
  const FramesView frames(argv[2]);
  WindowOptions options;
  options.features = WindowFeatures::compat;
  measure("frames", *open_windows(frames, options));
}
