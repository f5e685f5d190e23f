#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/predict/piece_memory.h"
#include "memory/slab.h"
#include "nn/gnn.h"
#include "rows/batches_ahead.h"
#include "rows/feature_file.h"
#include "rows/scanned_rows.h"
#include "sample/block/block.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// Nodes that follow each other, with all their neighbours.
struct JudgedPiece {
  SampledSubgraph sample;

  std::span<const int64_t> rows() const { return sample.node; }
  int64_t bytes() const { return sample.bytes(); }
};

/// What a worker takes for any of the pieces in a layer that reads such rows, as a made-up piece shows; where
/// there is no room for that, a part of it. No worker is there. Errors:
/// BudgetExceeded where there is room for nearly nothing.
PieceMemory measure_pieces(const Gnn& model, int64_t layer, const PieceSize& largest,
                           const RowWidths& widths);

/// One layer of a Gnn over all nodes of one giant graph, a piece at a time. Where memory does not hold what
/// the layer before said of all nodes, pieces are sampled ahead and their rows read in the order of the file.
class LayerRun {
 public:
  /// `from`: what the layer before said, or the features; `degrees` of all nodes, where the convolution wants
  /// them. All have to outlive it. Errors: those of RowReader, BudgetExceeded.
  LayerRun(DiskTopology& topology, const Gnn& model, int64_t layer, const FeatureFile& from,
           const Pieces& pieces, std::span<const float> degrees);

  /// Bytes with which all rows and edges stay in memory.
  int64_t max_cache_bytes() const {
    return rows_.max_bytes() + topology_.max_bytes() - topology_.min_bytes();
  }

  /// Of each thread.
  class Worker {
   public:
    explicit Worker(const Topology& topology);

   private:
    friend class LayerRun;
    void sample(int64_t first, int64_t end, JudgedPiece& piece);

    NeighbourSampler sampler_;
    Vector<int64_t, Tag::blocks> targets_;
    BatchesAhead<JudgedPiece>::KnownBatch piece_;
    GraphBlock block_;
    SlabRange range_;
  };
  /// So many workers, each with room for pieces that take so much, and the rest for caches of edges and rows
  /// (share_caches); or one that takes what its pieces need, without caches. They end before it is called
  /// again, and before this. Errors: BudgetExceeded, those of RowReader.
  std::vector<Worker> begin(int workers, const PieceMemory& each);
  std::vector<Worker> begin_alone();

  /// Fetches piece `number` for a worker, in their order; false after the last. One call at a time. Errors:
  /// those of the topology, BudgetExceeded.
  bool take(int64_t number, Worker& worker);
  /// Calls use(f32 [nodes, hidden]) with what the layer says of the piece that was fetched. Workers may call
  /// it at once. Errors: likewise, those of RowReader::read() and of `use`.
  template <typename Use>
  void run(int64_t number, Worker& worker, const Use& use) {
    const RangeScope scope(worker.range_);
    use(run(number, worker));
  }

 private:
  RowWidths widths() const {
    return {.node_features = rows_.width(), .edge_features = topology_.edge_width()};
  }
  void begin_pieces();
  void sample(int64_t number, Worker& by, JudgedPiece& piece) const;
  void fill(Worker& worker);
  at::Tensor run(int64_t number, Worker& worker);

  const Gnn& model_;
  const int64_t layer_;
  DiskTopology& topology_;
  const Pieces& pieces_;
  const std::span<const float> degrees_;
  ScannedRows rows_;
  int64_t ahead_ = 0;  // bytes for pieces that come; 0: each is sampled by who works on it
  Worker sampler_;     // of these, as what follows
  std::unique_ptr<BatchesAhead<JudgedPiece>> coming_;
  int64_t next_ = 0;
  int64_t room_ = 0;  // nodes that a sample has room for before it is made; 0: one works alone
  Slab slab_;
};

}  // namespace plimsoll
