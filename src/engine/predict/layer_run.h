#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/workers.h"
#include "engine/predict/needed_pieces.h"
#include "engine/predict/piece_memory.h"
#include "memory/slab.h"
#include "nn/gnn.h"
#include "nn/neighbour_sum.h"
#include "rows/batches_ahead.h"
#include "rows/feature_file.h"
#include "rows/scanned_rows.h"
#include "sample/block/block.h"
#include "sample/block/column_order.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// The sample of a piece.
struct SampledPiece {
  SampledSubgraph sample;

  std::span<const int64_t> rows() const { return sample.node; }
  int64_t bytes() const { return sample.bytes(); }
};

/// Returns the memory that a worker needs for any of the pieces in a layer that reads such rows. It is
/// measured with a synthetic piece, or with part of that piece if the whole does not fit. No worker may
/// exist. Errors: BudgetExceeded if not even the smallest part fits.
PieceMemory measure_pieces(const Gnn& model, int64_t layer, const PieceSize& largest,
                           const RowWidths& widths);

/// Runs one layer of a Gnn over all nodes of one giant graph, piece by piece. If the outputs of the previous
/// layer do not fit into memory, pieces are sampled ahead and their rows are read in file order.
class LayerRun {
 public:
  /// `from` has the outputs of the previous layer, or the features. Only the `needed` pieces run. `degrees`
  /// has the degrees of all nodes, if the convolution needs them. `order` is the order of the graph's
  /// features. All arguments except `from` must outlive the object. Errors: those of RowReader,
  /// BudgetExceeded.
  LayerRun(DiskTopology& topology, const Gnn& model, int64_t layer, const FeatureFile& from,
           const Pieces& pieces, const NeededPieces& needed, std::span<const float> degrees,
           const FeatureOrder& order);

  /// Bytes of caches that hold all rows and edges.
  int64_t max_cache_bytes() const {
    return rows_.max_bytes() + topology_.max_bytes() - topology_.min_bytes();
  }

  /// The state of one thread.
  class Worker {
   public:
    explicit Worker(const Topology& topology);

   private:
    friend class LayerRun;
    int64_t number_ = 0;  // The piece that the worker runs.
    void sample(const Piece& piece, const Topology& topology, SampledPiece& sampled);

    NeighbourSampler sampler_;
    Vector<int64_t, Tag::blocks> targets_;
    BatchesAhead<SampledPiece>::KnownBatch piece_;
    GraphBlock block_;
    SlabRange range_;
  };
  /// Makes `workers` workers, each with memory for pieces of size `each`, and uses the remaining memory for
  /// caches of edges and rows (share_caches). begin_alone() makes one worker that allocates what its pieces
  /// need, without caches. The workers must be destroyed before the next call, and before the LayerRun.
  /// Errors: BudgetExceeded, those of RowReader.
  std::vector<Worker> begin(int workers, const PieceMemory& each);
  std::vector<Worker> begin_alone();

  /// Fetches the next piece for a worker, in the order of the pieces. Returns false after the last one. Only
  /// one thread at a time may call it. Errors: those of the topology, BudgetExceeded.
  bool take(Worker& worker);
  /// Runs the layer on the fetched piece, then calls use(first node, f32 [nodes, hidden]) in the order of the
  /// pieces. The chunks of a hub get one call, after the last chunk. Several workers may call it at once.
  /// Returns the number of nodes that are done once this piece and all before it are done. Errors: those of
  /// take(), of RowReader::read() and of `use`.
  int64_t run(Worker& worker, Turn& turn, const std::function<void(int64_t, const at::Tensor&)>& use);

 private:
  RowWidths widths() const {
    return {.node_features = rows_.width(), .edge_features = topology_.edge_width()};
  }
  void begin_pieces();
  int64_t needed_from(int64_t number) const;
  void sample(int64_t number, Worker& by, SampledPiece& piece) const;
  void fill(Worker& worker);

  const Gnn& model_;
  const int64_t layer_;
  DiskTopology& topology_;
  const Pieces& pieces_;
  const NeededPieces& needed_;
  const std::span<const float> degrees_;
  const FeatureOrder& order_;
  ScannedRows rows_;
  int64_t ahead_ = 0;  // Bytes for pieces that are sampled ahead; 0: each worker samples its own pieces.
  Worker sampler_;     // Samples the pieces ahead.
  std::unique_ptr<BatchesAhead<SampledPiece>> coming_;
  int64_t next_ = 0;  // The next piece that will be sampled ahead.
  int64_t due_ = 0;   // The next piece that a worker will take.
  NeighbourSum hub_;  // Sum of the chunks of a hub that have been computed in order so far.
  // Number of nodes for which a sample reserves memory; 0: one worker runs alone.
  int64_t reserved_nodes_ = 0;
  Slab slab_;
};

}  // namespace plimsoll
