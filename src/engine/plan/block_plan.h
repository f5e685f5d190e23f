#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "engine/blocks/block_terms.h"
#include "memory/layout.h"
#include "memory/tape_model.h"
#include "sample/block/block_runner.h"

namespace plimsoll {

/// The memory that any block needs for one kind of work, such as training: the tape, and the positions of its
/// pieces. Call set_model() first, then lay_out(). Thread-safe afterwards.
class BlockPlan : public RangePlanner {
 public:
  /// The arrays that `shapes` views must outlive the plan.
  BlockPlan(const BlockShapes& shapes, const CollateOptions& options) : shapes_(shapes), options_(options) {}

  /// Sets the tape model of blocks whose pieces are closed, or of the other blocks.
  void set_model(bool closed, TapeModel model) { kind(closed).model = std::move(model); }
  bool has_model(bool closed) const { return !kind(closed).model.empty(); }
  /// Makes the layout for the largest sizes within a box. Does nothing if the probes' tapes were not the same
  /// sequence of events: then there are no positions, and the sizes of ranges are estimates.
  void lay_out(bool closed, const Terms& lowest, const Terms& highest);
  /// Computes the layout for one block, and keeps it if that block then needs fewer bytes.
  void lay_out(const BlockTerms& block);

  void plan(std::span<const int64_t> graphs, RangePlan& plan) const override;
  void plan(const BlockTerms& block, RangePlan& plan) const;
  /// Maximum number of entries in the plan of a block. The bytes of each entry are in the ledger.
  size_t max_pieces() const;
  /// Bytes of the range of a block.
  int64_t bytes(const BlockTerms& block) const;
  /// Bytes that are sufficient for every block within a box.
  int64_t highest_bytes(bool closed, const Terms& lowest, const Terms& highest) const;
  /// Maximum bytes that the tensors of a block request at a time, and the operation at that peak.
  struct Peak {
    int64_t bytes = 0;
    std::string operation;
  };
  Peak peak(const BlockTerms& block) const;
  BlockTerms terms(std::span<const int64_t> graphs) const { return terms_of(graphs, shapes_, options_); }
  const TapeModel& model(bool closed) const { return kind(closed).model; }

  bool exact() const;
  /// Why the plan is not exact; empty if it is.
  std::string difference() const;
  /// Marks the plan as inexact, after a run differed from the tape. Ranges stay as they are: a piece that
  /// does not fit into its range is allocated on the heap.
  void set_inexact(const std::string& difference) { noted_ = difference; }

 private:
  struct Kind {
    TapeModel model;
    Layout layout;
    bool laid_out = false;
  };
  Kind& kind(bool closed) { return kinds_[closed ? 1 : 0]; }
  const Kind& kind(bool closed) const { return kinds_[closed ? 1 : 0]; }

  BlockShapes shapes_;
  CollateOptions options_;
  std::array<Kind, 2> kinds_;
  std::string noted_;
};

}  // namespace plimsoll
