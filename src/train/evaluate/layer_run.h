#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <span>

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

/// One layer of a Gnn over all nodes of one giant graph, a piece at a time. Where memory does not hold what
/// the layer before said of all nodes, pieces are sampled ahead and their rows read in the order of the file.
class LayerRun {
 public:
  /// `from`: what the layer before said, or the features; piece i has the nodes begins[i] .. begins[i + 1] -
  /// 1; `degrees` of all nodes, where the convolution wants them. All have to outlive it. Resizes the
  /// topology (share_caches). Errors: BudgetExceeded, those of RowReader.
  LayerRun(DiskTopology& topology, const Gnn& model, int64_t layer, const FeatureFile& from,
           std::span<const int64_t> begins, std::span<const float> degrees);

  /// Of each thread.
  class Worker {
   public:
    explicit Worker(const Topology& topology);

   private:
    friend class LayerRun;
    void sample(int64_t first, int64_t end, JudgedPiece& piece);

    NeighbourSampler sampler_;
    Vector<int64_t, Tag::blocks> targets_;
    BatchesAhead<JudgedPiece>::Coming piece_;
    GraphBlock block_;
  };
  Worker make_worker() const { return Worker(topology_); }

  /// Fetches piece `number` for a worker, in their order; false after the last. One call at a time. Errors:
  /// those of the topology, BudgetExceeded.
  bool take(int64_t number, Worker& worker);
  /// f32 [nodes, hidden] of the piece that was fetched. Workers may call it at once. Errors: likewise, and
  /// those of RowReader::read().
  at::Tensor run(int64_t number, Worker& worker);

 private:
  int64_t pieces() const { return std::ssize(begins_) - 1; }
  void sample(int64_t number, Worker& by, JudgedPiece& piece) const;
  void fill(Worker& worker);

  const Gnn& model_;
  const int64_t layer_;
  const Topology& topology_;
  const std::span<const int64_t> begins_;
  const std::span<const float> degrees_;
  ScannedRows rows_;
  const int64_t ahead_;  // bytes for pieces that come; 0: each is sampled by who works on it
  Worker sampler_;       // of these, as what follows
  BatchesAhead<JudgedPiece> coming_;
  int64_t next_ = 0;
};

}  // namespace plimsoll
