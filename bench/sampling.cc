// Measures how fast neighbours are sampled: complete batches of 1,024 seeds, relabelled, with edges and
// counts, from a graph in memory.
//
//     bench_sampling INDPTR.npy INDICES.npy SEEDS.npy ROUNDS [FAN_OUT...]     default: 15 10 5
//
// Prints one line of JSON per round: wall and processor seconds of one pass over all seeds, and the numbers
// of sampled nodes and edges. Each round is an epoch of its own.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <span>
#include <string>
#include <vector>

#include "io/npy.h"
#include "sample/neighbour/neighbour_sampler.h"

namespace plimsoll {
namespace {

constexpr size_t kBatch = 1024;

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void measure(NeighbourSampler& sampler, std::span<const int64_t> seeds, uint32_t epoch) {
  SampledSubgraph out;
  size_t nodes = 0;
  size_t edges = 0;
  const double processor = processor_seconds();
  const auto wall = std::chrono::steady_clock::now();
  for (size_t first = 0; first < seeds.size(); first += kBatch) {
    sampler.sample(seeds.subspan(first, std::min(kBatch, seeds.size() - first)), epoch, out);
    nodes += out.node.size();
    edges += out.edge.size();
  }
  fmt::print("{{\"seeds\": {}, \"wall\": {:.6f}, \"cpu\": {:.6f}, \"nodes\": {}, \"edges\": {}}}\n",
             seeds.size(), std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count(),
             processor_seconds() - processor, nodes, edges);
}

CsrTopology::Indices indices_of(const NpyView& view) {
  if (view.shape().dtype == npy_dtype<uint32_t>()) return view.values<uint32_t>();
  return view.values<int64_t>();
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  using namespace plimsoll;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 4) {
    fmt::print(stderr, "usage: bench_sampling INDPTR.npy INDICES.npy SEEDS.npy ROUNDS [FAN_OUT...]\n");
    return 2;
  }
  const NpyView indptr(arguments[0]);
  const NpyView indices(arguments[1]);
  const NpyView seeds(arguments[2]);
  NeighbourOptions options;
  for (size_t i = 4; i < arguments.size(); ++i) options.fan_outs.push_back(std::stoll(arguments[i]));
  if (options.fan_outs.empty()) options.fan_outs = {15, 10, 5};
  const CsrTopology topology(indptr.values<int64_t>(), indices_of(indices));
  NeighbourSampler sampler(topology, options, 1);
  for (uint32_t epoch = 1; epoch <= static_cast<uint32_t>(std::stoul(arguments[3])); ++epoch)
    measure(sampler, seeds.values<int64_t>(), epoch);
}
