#include "sample/neighbour/sample_blocks.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "sample/neighbour/range_sampler.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxStreamBytes = int64_t{32} << 20;

// The result of sampling in ranges: how many blocks were sampled, and whether the caller wants no more.
struct InRanges {
  int64_t blocks = 0;
  bool enough = false;
  StreamBytes bytes = {};
};

// Samples as many blocks as memory and disk space allow, which may be none.
InRanges sample_in_ranges(const BlockSampler::From& from, DiskTopology& topology,
                          const SamplingShares& shares, std::span<const BlockNumbers> numbers,
                          const StreamSpace& space, const SampledGroup& use,
                          const std::function<void()>& on_hop) {
  InRanges done;
  topology.resize(topology.min_bytes());
  RangeSampler sampler(
      from, topology,
      {shares.threads, shares.topology_bytes, shares.stream_bytes, space.max_nodes, space.max_edges, on_hop});
  if (!sampler.is_possible()) return done;
  Vector<int64_t, Tag::blocks> all;
  for (const BlockNumbers& range : numbers)
    for (int64_t number = range.first; number < range.end; ++number) all.push_back(number);
  const int64_t max = std::min(space.bytes, ScratchFile::room(space.folder));
  int64_t at_once = std::ssize(all);
  const auto bytes = [&] { return sampler.file_bytes(at_once, space.nodes, space.edges); };
  while (at_once > 1 && bytes() > max) at_once = (at_once + 1) / 2;
  if (bytes() > max) return done;
  auto file = ScratchFile::make(space.folder, bytes());
  if (!file) return done;
  while (done.blocks < std::ssize(all) && !done.enough && at_once > 0) {
    const auto some =
        std::span(all).subspan(static_cast<size_t>(done.blocks),
                               static_cast<size_t>(std::min(at_once, std::ssize(all) - done.blocks)));
    try {
      done.enough = !sampler.sample(some, *file, [&](const BlockSample& sample, Turn& turn) {
        return use({&sample, 1}, turn);
      });
      done.blocks += std::ssize(some);
    } catch (const ScratchStreamsFull&) {  // The blocks are larger than expected, and none has been used yet.
      at_once /= 2;
    }
  }
  done.bytes = {sampler.bytes_read(), sampler.bytes_written()};
  return done;
}

// Returns the numbers after the first `count`.
std::vector<BlockNumbers> after(std::span<const BlockNumbers> numbers, int64_t count) {
  std::vector<BlockNumbers> rest;
  for (const auto& [first, end] : numbers) {
    const int64_t skipped = std::min(count, end - first);
    if (first + skipped < end) rest.push_back({first + skipped, end});
    count -= skipped;
  }
  return rest;
}

void sample_in_groups(const BlockSampler::From& from, DiskTopology& topology, const SamplingShares& shares,
                      std::span<const BlockNumbers> numbers, const SampledGroup& use) {
  topology.resize(shares.topology_bytes);
  struct Own {
    BlockSampler sampler;
    Vector<BlockSample, Tag::blocks> samples = {};
    std::vector<int64_t> numbers = {};
  };
  std::vector<Own> own;
  own.reserve(static_cast<size_t>(shares.threads));
  for (int i = 0; i < shares.threads; ++i) own.push_back({BlockSampler(from)});
  std::atomic<int64_t> largest = 0;  // Bytes of the largest block so far.
  std::atomic<bool> enough = false;
  auto range = numbers.begin();
  int64_t next = range == numbers.end() ? 0 : range->first;
  const auto take = [&](int64_t, int worker) {
    throw_if_interrupted("the blocks of the run were sampled");
    while (range != numbers.end() && next == range->end)
      if (++range != numbers.end()) next = range->first;
    if (range == numbers.end() || enough) return false;
    Own& mine = own[static_cast<size_t>(worker)];
    const int64_t count =
        std::clamp<int64_t>(largest == 0 ? 1 : shares.group_bytes / largest, 1, shares.max_group);
    mine.numbers.resize(static_cast<size_t>(std::min(count, range->end - next)));
    std::iota(mine.numbers.begin(), mine.numbers.end(), next);
    next += std::ssize(mine.numbers);
    return true;
  };
  const auto work = [&](int64_t, Turn& turn) {
    Own& mine = own[static_cast<size_t>(turn.worker())];
    mine.samples.resize(std::max(mine.samples.size(), mine.numbers.size()));
    mine.sampler.sample(mine.numbers, mine.samples);
    const auto group = std::span(mine.samples).first(mine.numbers.size());
    for (const BlockSample& sample : group) {
      const int64_t bytes =
          BulkSampler::bytes_for(sample.batch.nodes(), sample.batch.edges(), topology.edge_width()) +
          from.bytes_for_targets(sample.targets());
      for (int64_t before = largest; before < bytes && !largest.compare_exchange_weak(before, bytes);) {
      }
    }
    if (!use(group, turn)) enough = true;
  };
  Workers(shares.threads).run_stream(take, work);
}

}  // namespace

SamplingShares SamplingShares::of(int64_t bytes, const DiskTopology& topology, int64_t block_bytes,
                                  int threads, int64_t range_bytes) {
  const int64_t all = topology.max_bytes();
  const int64_t min = topology.min_bytes();
  for (int some = threads; some > 0; --some) {
    const int64_t left = bytes - (all - min);
    if (left >= some * CacheShares::kGroupInMemory * block_bytes)
      return {some, all, left / some, CacheShares::kGroupInMemory};
  }
  // Most of the remaining memory stays free, because later blocks may be larger than earlier ones and leave
  // holes in the heap.
  const int64_t left = std::max<int64_t>(bytes, 0);
  if (range_bytes > 0 && left > range_bytes) {
    const auto some = static_cast<int>(std::clamp<int64_t>(left / 2 / range_bytes, 1, threads));
    const int64_t rest = left - some * range_bytes;
    const int64_t streams = std::min(rest / 4, kMaxStreamBytes);
    return {some, std::clamp(min + rest - rest / 8 - streams, min, all), 0, 1, streams};
  }
  const auto some = static_cast<int>(std::clamp<int64_t>(left / 2 / block_bytes, 1, threads));
  return {some, std::clamp(min + left / 2, min, all), left / 8 / some, kLargestGroup};
}

SamplingShares SamplingShares::without_ranges(const DiskTopology& topology) const {
  const int64_t of_topology = (topology_bytes - topology.min_bytes()) / 2;
  return {threads, topology.min_bytes() + of_topology, of_topology / 4 / threads, kLargestGroup};
}

bool can_sample_in_ranges(const BlockSampler::From& from, const StreamSpace& space) {
  return !space.folder.empty() && space.bytes > 0 && !from.negatives;
}

StreamBytes sample_blocks(const BlockSampler::From& from, DiskTopology& topology,
                          const SamplingShares& shares, std::span<const BlockNumbers> numbers,
                          const StreamSpace& space, const SampledGroup& use,
                          const std::function<void()>& on_hop) {
  if (shares.stream_bytes == 0) {
    sample_in_groups(from, topology, shares, numbers, use);
    return {};
  }
  const InRanges done = sample_in_ranges(from, topology, shares, numbers, space, use, on_hop);
  // Blocks of a group do not report single hops, so each block reports all of its hops when it has been
  // sampled.
  const auto use_with_hops = [&](std::span<const BlockSample> group, Turn& turn) {
    if (on_hop)
      for (size_t hops = group.size() * from.neighbours.fan_outs.size(); hops > 0; --hops) on_hop();
    return use(group, turn);
  };
  if (const auto rest = after(numbers, done.blocks); !rest.empty() && !done.enough)
    sample_in_groups(from, topology, shares.without_ranges(topology), rest, use_with_hops);
  return done.bytes;
}

}  // namespace plimsoll
