#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/workers.h"
#include "io/scratch_file.h"
#include "sample/neighbour/block_sampler.h"
#include "sample/neighbour/scratch_streams.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// Samples many blocks with one pass over the neighbour lists per hop, however little memory there is. The
/// lists are read in ranges of nodes that fit into memory, one range after the other. For each range there is
/// a stream of requests, in the order of blocks and of the nodes within them, and a stream of answers in the
/// same order. Therefore no answer needs to be searched for or sorted: to assemble a block, each node takes
/// the next answer of the range that contains it. The streams are in a scratch file. Between hops only the
/// answers of a block are stored, and the block is assembled from them again.
///
/// A sample is the same as that of BlockSampler. Blocks must not leave out edges (BlockSampler::From:
/// `negatives` must be unset), and the graph must have fewer than 2^32 nodes. The objects passed to the
/// constructor must outlive this one.
class RangeSampler {
 public:
  struct Options {
    int threads = 1;
    int64_t topology_bytes = 0;  ///< Bytes of a range of lists (DiskTopology::ranges()).
    int64_t buffer_bytes = 0;    ///< Bytes of the buffers of all streams.
    int64_t max_nodes = 0;       ///< Maximum nodes of a block; 0 if unknown.
    int64_t max_edges = 0;       ///< Maximum edges of a block; 0 if unknown.
    /// Called for each block in each hop, by several threads, before the first call of `use`; may be empty.
    std::function<void()> on_hop = {};
  };
  /// Returns the maximum bytes that a thread needs for blocks of this size.
  static int64_t bytes_for(int64_t max_nodes, int64_t max_edges, int64_t edge_width);
  /// Maximum number of ranges.
  static constexpr int64_t kMaxRanges = 256;

  /// Errors: those of the topology; BudgetExceeded, ThreadRefused.
  RangeSampler(const BlockSampler::From& from, DiskTopology& topology, const Options& options);

  /// Returns false if the buffers are too small for the number of ranges. sample() and file_bytes() must then
  /// not be called.
  bool is_possible() const { return extent_ > 0; }
  /// Estimates the bytes that the streams of blocks with these averages need in a scratch file.
  int64_t file_bytes(int64_t blocks, double nodes, double edges) const;

  /// Receives a sample and returns whether to continue. Called by several threads; code after turn.wait()
  /// runs in the order of the blocks.
  using Use = std::function<bool(const BlockSample& sample, Turn& turn)>;
  /// Samples these blocks, and calls `use` for each. Replaces the cache of the topology
  /// (DiskTopology::hold()). Returns false if `use` has returned false, after which no further blocks are
  /// sampled. Errors: ScratchStreamsFull before the first call of `use`; those of BlockSampler and
  /// ScratchFile; BudgetExceeded, Interrupted.
  bool sample(std::span<const int64_t> numbers, ScratchFile& file, const Use& use);
  /// Return the bytes that all calls of sample() that ended without an error read from the file or wrote to
  /// it.
  int64_t bytes_read() const { return bytes_read_; }
  int64_t bytes_written() const { return bytes_written_; }

 private:
  using Streams = std::vector<ScratchStreams::Stream>;
  // The streams of every threads-th block. No two threads work on the same lane at the same time.
  struct Lane {
    Streams requests = {};                                       // [ranges]
    std::vector<Streams> answers = {};                           // [hops][ranges]
    std::vector<ScratchStreams::Writer> writers = {};            // Writers of the requests.
    std::vector<std::vector<ScratchStreams::Reader>> read = {};  // Readers of the answers.
  };
  // Data that a thread works with.
  struct Worker {
    BlockSample sample = {};
    Vector<int64_t, Tag::blocks> seeds = {};
    NodeIdMap table = {};
    NodeIdMap::Column tree = {};
    NeighbourChoice choice = {};
    Vector<uint64_t, Tag::blocks> keys = {};
    Vector<int64_t, Tag::blocks> nodes = {};
    Vector<EdgeRange, Tag::blocks> lists = {};
    Vector<uint32_t, Tag::blocks> counts = {};
    Vector<int64_t, Tag::blocks> edges = {};
    Vector<int64_t, Tag::blocks> neighbours = {};
    Vector<uint32_t, Tag::blocks> answer = {};
    Vector<float, Tag::blocks> values = {};
  };
  void open_answers(ScratchStreams& streams, size_t hops);
  void ask(ScratchStreams& streams, std::span<const int64_t> numbers, size_t hop);
  void answer(ScratchStreams& streams, size_t hop);
  void answer(ScratchStreams& streams, Lane& lane, Worker& worker, size_t range, size_t hop);
  bool take_requests(ScratchStreams::Reader& requests, Worker& worker);
  void write_answers(Worker& worker, ScratchStreams::Writer& to);
  void put_together(int64_t number, size_t hops, Lane& lane, Worker& worker);
  void add_hop(std::vector<ScratchStreams::Reader>& answers, Worker& worker);
  size_t range_of(int64_t node) const;
  size_t ranges() const { return firsts_.size() - 1; }
  bool reads_weights() const;

  const BlockSampler::From from_;
  DiskTopology& topology_;
  const Options options_;
  std::vector<int64_t> firsts_;  // First node of each range, followed by the number of nodes.
  int64_t extent_ = 0;
  int64_t bytes_read_ = 0;
  int64_t bytes_written_ = 0;
  Workers workers_;
  std::vector<Lane> lanes_;
  std::vector<Worker> worker_;
};

}  // namespace plimsoll
