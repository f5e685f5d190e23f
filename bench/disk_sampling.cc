// How fast neighbours are sampled with the topology on disk, beside the same in memory: fan-outs 15, 10, 5, complete
// batches of 1,024 seeds, one thread.
//
//     bench_disk_sampling GRAPH ROUNDS [PAGE_BYTES [BATCHES [PERCENT...]]]     GRAPH is a data set of kind `graph`
//
// Of those on disk BATCHES are sampled together (sample/neighbour/bulk_sampler.h), 1 where nothing else is said; what that takes is
// printed, and is beside the share.
//
// For each share of the topology: a first pass over 20,000 seeds with an empty cache, and ROUNDS more, each an epoch of
// its own, which take turns with passes in memory. The page cache of the kernel is told to let the columns go before each
// pass (`cold`), or not (`warm`).

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "memory/ledger.h"
#include "sample/neighbour/bulk_sampler.h"
#include "sample/topology/disk_topology.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "store/graph.h"

namespace plimsoll {
namespace {

constexpr size_t kBatch = 1024;
constexpr size_t kSeeds = 20'000;

struct Pass {
  double wall = 0;
  double processor = 0;
};

struct Passes {
  std::vector<double> wall, processor;
  void add(const Pass& pass) {
    wall.push_back(pass.wall);
    processor.push_back(pass.processor);
  }
};

double best(const std::vector<double>& seconds) {
  return kSeeds / *std::min_element(seconds.begin(), seconds.end());
}
double median(std::vector<double> seconds) {
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<int64_t>(seconds.size() / 2), seconds.end());
  return kSeeds / seconds[seconds.size() / 2];
}

template <typename Work>
Pass timed(const Work& work) {
  const std::clock_t processor = std::clock();
  const auto wall = std::chrono::steady_clock::now();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count(),
          static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC};
}

const NeighbourOptions kOptions{.fan_outs = {15, 10, 5}};

Pass run(const Topology& topology, const std::vector<int64_t>& seeds, uint32_t epoch) {
  NeighbourSampler sampler(topology, kOptions, 1);
  SampledSubgraph out;
  return timed([&] {
    for (size_t first = 0; first < seeds.size(); first += kBatch)
      sampler.sample(std::span(seeds).subspan(first, std::min(kBatch, seeds.size() - first)), epoch, out);
  });
}

Pass run_in_bulk(BulkSampler& sampler, const std::vector<int64_t>& seeds, uint32_t epoch, size_t together) {
  return timed([&] {
    for (size_t first = 0; first < seeds.size();) {
      std::vector<SampledBatch> batches;
      for (; batches.size() < together && first < seeds.size(); first += kBatch) {
        const auto batch = std::span(seeds).subspan(first, std::min(kBatch, seeds.size() - first));
        batches.emplace_back().epoch = epoch;
        batches.back().node.assign(batch.begin(), batch.end());
      }
      sampler.sample(batches);
    }
  });
}

void leave_page_cache(const std::filesystem::path& folder) {
  for (const char* name : {"indptr.npy", "indices.npy"}) {
    const File file = File::open(folder / name);
    ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

void print(const std::string& what, const Passes& passes) {
  fmt::print("{:<34} {:>8.0f} / {:>8.0f} seeds/s   {:>8.0f} / {:>8.0f} seeds/s of a core", what, best(passes.wall),
             median(passes.wall), best(passes.processor), median(passes.processor));
}

std::vector<int64_t> draw_seeds(const GraphView& graph) {
  std::vector<int64_t> seeds;
  for (int64_t v = 0; v < graph.nodes(); ++v)
    if (graph.indptr()[static_cast<size_t>(v)] < graph.indptr()[static_cast<size_t>(v) + 1]) seeds.push_back(v);
  std::shuffle(seeds.begin(), seeds.end(), std::mt19937_64(1));
  seeds.resize(std::min(seeds.size(), kSeeds));
  return seeds;
}

void measure(const std::filesystem::path& folder, uint32_t rounds, const PageCache::Options& options,
             size_t together, const std::vector<int64_t>& percents) {
  std::vector<int64_t> seeds;
  int64_t bytes = 0;
  std::vector<int64_t> indptr;
  std::vector<uint32_t> indices;
  {
    const GraphView graph(folder);
    if (graph.indices().empty()) throw UsageError("expected a graph with indices of u32");
    seeds = draw_seeds(graph);
    indptr.assign(graph.indptr().begin(), graph.indptr().end());
    indices.assign(graph.indices().begin(), graph.indices().end());
    bytes = static_cast<int64_t>(graph.indptr().size_bytes() + graph.indices().size_bytes());
  }
  const CsrTopology memory(indptr, std::span<const uint32_t>(indices));
  Passes in_memory;
  run(memory, seeds, 1);
  fmt::print("{} seeds, {} bytes of indptr and indices, pages of {}, {} batches together\n", seeds.size(), bytes,
             options.page_bytes, together);
  for (const bool cold : {false, true})
    for (const int64_t percent : percents) {
      DiskTopology disk(folder, bytes * percent / 100, options);
      Passes passes;
      Passes first;
      BulkSampler sampler(disk, kOptions, 1);
      Ledger& ledger = Ledger::process();
      const int64_t held = ledger.held();
      ledger.begin_recent();
      const auto pass = [&](uint32_t epoch, Passes& to) {
        if (cold) leave_page_cache(folder);
        to.add(run_in_bulk(sampler, seeds, epoch, together));
      };
      pass(1, first);
      TopologyCounters before = disk.counters();
      for (uint32_t epoch = 2; epoch < rounds + 2; ++epoch) {
        pass(epoch, passes);
        in_memory.add(run(memory, seeds, epoch));
      }
      const TopologyCounters after = disk.counters();
      print(fmt::format("{} {:>3} %, first pass", cold ? "cold" : "warm", percent), first);
      fmt::print("\n");
      print(fmt::format("{} {:>3} %", cold ? "cold" : "warm", percent), passes);
      const auto hits = [](const PageCounters& a, const PageCounters& b) {
        return static_cast<double>(b.hits - a.hits) / static_cast<double>(b.hits + b.misses - a.hits - a.misses);
      };
      const auto count = [&](const PageCounters& a, const PageCounters& b) {
        return fmt::format("{:.3f} hits, {:>6.0f} pages and {:.2f} MB read a pass, waited {:.0f} ms", hits(a, b),
                           static_cast<double>(b.pages_read - a.pages_read) / rounds,
                           static_cast<double>(b.bytes_read - a.bytes_read) / rounds / 1e6,
                           (b.waited_seconds - a.waited_seconds) / rounds * 1e3);
      };
      fmt::print("\n    lists {}\n    neighbours {}\n", count(before.lists, after.lists),
                 count(before.neighbours, after.neighbours));
      fmt::print("    {:.2f} MB for batches\n", static_cast<double>(ledger.recent_peak() - held) / 1e6);
    }
  print("in memory", in_memory);
  fmt::print("\n");
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  using namespace plimsoll;
  try {
    if (argc < 3) throw UsageError("usage: bench_disk_sampling GRAPH ROUNDS [PAGE_BYTES [BATCHES [PERCENT...]]]");
    PageCache::Options options;
    if (argc > 3) options.page_bytes = std::atoll(argv[3]);
    std::vector<int64_t> percents;
    const size_t together = argc > 4 ? std::stoul(argv[4]) : 1;
    for (int i = 5; i < argc; ++i) percents.push_back(std::atoll(argv[i]));
    if (percents.empty()) percents = {10, 20, 50, 110};
    measure(argv[1], static_cast<uint32_t>(std::stoul(argv[2])), options, together, percents);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "bench_disk_sampling: {}\n", error.what());
    return error.exit_code();
  }
}
