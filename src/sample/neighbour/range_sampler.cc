#include "sample/neighbour/range_sampler.h"

#include <algorithm>
#include <atomic>

#include "base/interrupt.h"
#include "sample/seeds/draws.h"

namespace plimsoll {
namespace {

constexpr int64_t kMinExtent = 4 * 1024;
constexpr int64_t kMaxExtent = 1024 * 1024;
constexpr size_t kRequestsTogether = 4096;    // Lists that are read together.
constexpr size_t kEdgesTogether = 16 * 1024;  // Edges that are read together.

// A node and the key with which its neighbours are drawn.
#pragma pack(push, 4)
struct Request {
  uint64_t key;
  uint32_t node;
};
#pragma pack(pop)

template <typename T>
std::span<const std::byte> bytes_of_one(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

RangeSampler::RangeSampler(const BlockSampler::From& from, DiskTopology& topology, const Options& options)
    : from_(from),
      topology_(topology),
      options_(options),
      firsts_(topology.ranges(options.topology_bytes, reads_weights(), kMaxRanges)),
      workers_(options.threads),
      lanes_(static_cast<size_t>(options.threads)),
      worker_(static_cast<size_t>(options.threads)) {
  const auto hops = static_cast<int64_t>(from.neighbours.fan_outs.size());
  const auto ranges_now = static_cast<int64_t>(ranges());
  const int64_t extent = options.buffer_bytes / (options.threads * ranges_now * (hops + 1)) /
                         ScratchFile::kAlignment * ScratchFile::kAlignment;
  if (ranges_now <= kMaxRanges && extent >= kMinExtent) extent_ = std::min(extent, kMaxExtent);
  for (Worker& worker : worker_) {
    worker.sample.reserve(options.max_nodes, options.max_edges, topology.edge_width());
    worker.tree.reserve(static_cast<size_t>(options.max_nodes));
  }
}

int64_t RangeSampler::bytes_for(int64_t max_nodes, int64_t max_edges, int64_t edge_width) {
  constexpr int64_t kTable = 24;  // Bytes of NodeIdMap, including the old table while it grows.
  constexpr auto kRequest = static_cast<int64_t>(sizeof(uint64_t) + sizeof(int64_t) + sizeof(EdgeRange));
  constexpr auto kEdge = static_cast<int64_t>(2 * sizeof(int64_t));
  return max_nodes * (20 + kTable) + (max_edges + 2 * int64_t{kEdgesTogether}) * 4 * (1 + edge_width) +
         int64_t{kRequestsTogether} * 2 * kRequest + int64_t{kEdgesTogether} * 2 * kEdge;
}

bool RangeSampler::reads_weights() const {
  return from_.neighbours.weighted || (topology_.edge_width() > 0 && topology_.weighted());
}

int64_t RangeSampler::file_bytes(int64_t blocks, double nodes, double edges) const {
  // Only a few of the nodes are expanded, because most nodes are in the last hop.
  const double expanded = nodes / 2;
  const double bytes = static_cast<double>(sizeof(Request)) * expanded + 4 * expanded +
                       4 * edges * static_cast<double>(1 + topology_.edge_width());
  const auto streams = static_cast<int64_t>(from_.neighbours.fan_outs.size() + 1) *
                       static_cast<int64_t>(ranges()) * options_.threads;
  return streams * extent_ +
         static_cast<int64_t>(bytes * 1.125 * static_cast<double>(blocks)) / extent_ * extent_ + extent_;
}

size_t RangeSampler::range_of(int64_t node) const {
  return static_cast<size_t>(std::ranges::upper_bound(firsts_, node) - firsts_.begin()) - 1;
}

bool RangeSampler::sample(std::span<const int64_t> numbers, ScratchFile& file, const Use& use) {
  ScratchStreams streams(file, extent_);
  const size_t hops = from_.neighbours.fan_outs.size();
  for (Lane& lane : lanes_) lane = {.requests = Streams(ranges())};
  for (size_t hop = 0; hop < hops; ++hop) {
    ask(streams, numbers, hop);
    answer(streams, hop);
  }
  open_answers(streams, hops);
  std::atomic<bool> enough = false;
  workers_.run_ordered(std::ssize(numbers), [&](int64_t item, Turn& turn) {
    if (enough) return;
    Worker& worker = worker_[static_cast<size_t>(turn.worker())];
    put_together(numbers[static_cast<size_t>(item)], hops,
                 lanes_[static_cast<size_t>(item % options_.threads)], worker);
    if (!use(worker.sample, turn)) enough = true;
  });
  for (Lane& lane : lanes_) lane = {};
  bytes_read_ += streams.bytes_read();
  bytes_written_ += streams.bytes_written();
  return !enough;
}

void RangeSampler::open_answers(ScratchStreams& streams, size_t hops) {
  for (Lane& lane : lanes_) {
    lane.read.clear();
    lane.read.resize(hops);
    for (size_t hop = 0; hop < hops; ++hop)
      for (ScratchStreams::Stream& stream : lane.answers[hop])
        lane.read[hop].emplace_back(streams, stream, /*frees=*/false);
  }
}

// Writes the requests of a hop. An item starts only after the previous item of the same lane has ended,
// because there are never more active items than threads.
void RangeSampler::ask(ScratchStreams& streams, std::span<const int64_t> numbers, size_t hop) {
  open_answers(streams, hop);
  for (Lane& lane : lanes_)
    for (ScratchStreams::Stream& stream : lane.requests) lane.writers.emplace_back(streams, stream);
  workers_.run_ordered(std::ssize(numbers), [&](int64_t item, Turn& turn) {
    Lane& lane = lanes_[static_cast<size_t>(item % options_.threads)];
    Worker& worker = worker_[static_cast<size_t>(turn.worker())];
    put_together(numbers[static_cast<size_t>(item)], hop, lane, worker);
    const SampledBatch& batch = worker.sample.batch;
    for (size_t place = batch.in.size(); place < batch.node.size(); ++place) {
      const int64_t seed = batch.node[static_cast<size_t>(worker.tree[place])];
      const Request request{item_key(from_.seed, Purpose::neighbours, batch.epoch, seed),
                            static_cast<uint32_t>(batch.node[place])};
      lane.writers[range_of(batch.node[place])].put(bytes_of_one(request));
    }
    if (options_.on_hop) options_.on_hop();
  });
  for (Lane& lane : lanes_) {
    for (ScratchStreams::Writer& writer : lane.writers) writer.finish();
    lane.writers.clear();
    lane.read.clear();
  }
}

// Reads the ranges of lists one after the other, and answers the requests to each range.
void RangeSampler::answer(ScratchStreams& streams, size_t hop) {
  for (Lane& lane : lanes_) lane.answers.emplace_back(ranges());
  for (size_t range = 0; range < ranges(); ++range) {
    topology_.hold(firsts_[range], firsts_[range + 1], options_.topology_bytes, reads_weights());
    workers_.run_ordered(options_.threads, [&](int64_t lane, Turn& turn) {
      answer(streams, lanes_[static_cast<size_t>(lane)], worker_[static_cast<size_t>(turn.worker())], range,
             hop);
    });
  }
}

void RangeSampler::answer(ScratchStreams& streams, Lane& lane, Worker& worker, size_t range, size_t hop) {
  const int64_t fan_out = from_.neighbours.fan_outs[hop];
  ScratchStreams::Reader requests(streams, lane.requests[range], /*frees=*/true);
  ScratchStreams::Writer answers(streams, lane.answers[hop][range]);
  worker.edges.clear();  // If the file was full, some edges may be left from the previous attempt.
  worker.counts.clear();
  while (take_requests(requests, worker)) {
    throw_if_interrupted("the blocks of the run were sampled");
    topology_.read_lists(worker.nodes, worker.lists);
    for (size_t i = 0; i < worker.nodes.size(); ++i) {
      const EdgeRange list = worker.lists[i];
      Draws draws(worker.keys[i], Purpose::neighbours, static_cast<uint64_t>(worker.nodes[i]));
      const size_t before = worker.edges.size();
      worker.edges.resize(
          before + static_cast<size_t>(NeighbourChoice::max(list.degree, fan_out, from_.neighbours.replace)));
      int64_t* const to = worker.edges.data() + before;
      const int64_t chosen =
          from_.neighbours.weighted
              ? worker.choice.weighted(topology_, list, fan_out, from_.neighbours.replace, draws, to)
              : worker.choice.uniform(list, fan_out, from_.neighbours.replace, draws, to);
      worker.edges.resize(before + static_cast<size_t>(chosen));
      worker.counts.push_back(static_cast<uint32_t>(chosen));
      if (worker.edges.size() >= kEdgesTogether) write_answers(worker, answers);
    }
    write_answers(worker, answers);
  }
  answers.finish();
  lane.requests[range] = {};
}

// Returns whether there are more requests.
bool RangeSampler::take_requests(ScratchStreams::Reader& requests, Worker& worker) {
  worker.keys.clear();
  worker.nodes.clear();
  while (!requests.at_end() && worker.nodes.size() < kRequestsTogether) {
    Request request{};
    requests.get(std::as_writable_bytes(std::span(&request, 1)));
    worker.keys.push_back(request.key);
    worker.nodes.push_back(request.node);
  }
  worker.lists.resize(worker.nodes.size());
  return !worker.nodes.empty();
}

// An answer is the number of edges, their neighbours, and the values of all of them.
void RangeSampler::write_answers(Worker& worker, ScratchStreams::Writer& to) {
  const auto width = static_cast<size_t>(topology_.edge_width());
  worker.neighbours.resize(worker.edges.size());
  worker.values.resize(worker.edges.size() * width);
  topology_.read_neighbours(worker.edges, worker.neighbours);
  if (width > 0) topology_.read_edge_values(worker.edges, worker.values);
  size_t edge = 0;
  for (const uint32_t count : worker.counts) {
    worker.answer.assign(1, count);
    for (uint32_t i = 0; i < count; ++i)
      worker.answer.push_back(static_cast<uint32_t>(worker.neighbours[edge + i]));
    to.put(std::as_bytes(std::span(worker.answer)));
    to.put(std::as_bytes(std::span(worker.values).subspan(edge * width, count * width)));
    edge += count;
  }
  worker.edges.clear();
  worker.counts.clear();
}

// Assembles the part of a sample within some hops.
void RangeSampler::put_together(int64_t number, size_t hops, Lane& lane, Worker& worker) {
  throw_if_interrupted("the blocks of the run were sampled");
  const SeedBlocks::Block block = from_.blocks.block(number);
  worker.sample.number = number;
  worker.sample.batch.epoch = block.epoch;
  from_.blocks.seeds(block, worker.seeds, worker.sample.labels);
  begin_batch(worker.seeds, worker.table, worker.tree, worker.sample.batch);
  for (size_t hop = 0; hop < hops; ++hop) add_hop(lane.read[hop], worker);
}

void RangeSampler::add_hop(std::vector<ScratchStreams::Reader>& answers, Worker& worker) {
  SampledBatch& batch = worker.sample.batch;
  const auto width = static_cast<size_t>(topology_.edge_width());
  const size_t before = batch.node.size();
  const size_t edges = batch.source.size();
  for (size_t place = batch.in.size(); place < before; ++place) {
    ScratchStreams::Reader& from = answers[range_of(batch.node[place])];
    const int64_t seed = worker.tree[place];
    uint32_t count = 0;
    from.get(std::as_writable_bytes(std::span(&count, 1)));
    const size_t first = batch.source.size();
    batch.source.resize(first + count);
    const auto sources = std::span(batch.source).subspan(first);
    from.get(std::as_writable_bytes(sources));
    for (const uint32_t node : sources) worker.table.fetch(node, seed);
    for (uint32_t& node : sources) node = static_cast<uint32_t>(worker.table.find_or_add(node, seed));
    batch.values.resize((first + count) * width);
    from.get(std::as_writable_bytes(std::span(batch.values).subspan(first * width)));
    batch.in.push_back(count);
  }
  batch.nodes_per_hop.push_back(static_cast<int64_t>(batch.node.size() - before));
  batch.edges_per_hop.push_back(static_cast<int64_t>(batch.source.size() - edges));
}

}  // namespace plimsoll
