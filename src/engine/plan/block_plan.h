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

/// What one kind of work, such as training, takes of memory for any block: its tape, and where the pieces go.
/// Thread-safe once it is laid out.
class BlockPlan : public RangePlanner {
 public:
  /// What `shapes` views must outlive the plan.
  BlockPlan(const BlockShapes& shapes, const CollateOptions& options) : shapes_(shapes), options_(options) {}

  /// The tape of blocks whose pieces are closed, or of the others.
  void set_model(bool closed, TapeModel model) { kind(closed).model = std::move(model); }
  bool has_model(bool closed) const { return !kind(closed).model.empty(); }
  /// Makes the layout for the largest sizes within a box.
  void lay_out(bool closed, const Terms& lowest, const Terms& highest);
  /// Makes it for a block; kept if that block takes less by it.
  void lay_out(const BlockTerms& block);

  void plan(std::span<const int64_t> graphs, RangePlan& plan) const override;
  void plan(const BlockTerms& block, RangePlan& plan) const;
  /// Of the plan of any block; each entry takes its bytes of the ledger.
  size_t max_pieces() const;
  /// Bytes of a range.
  int64_t bytes(const BlockTerms& block) const;
  /// The bytes that suffice for every block within a box.
  int64_t highest_bytes(bool closed, const Terms& lowest, const Terms& highest) const;
  /// Bytes asked for at once at its peak, and the operation that comes to it.
  struct Peak {
    int64_t bytes = 0;
    std::string operation;
  };
  Peak peak(const BlockTerms& block) const;
  BlockTerms terms(std::span<const int64_t> graphs) const { return terms_of(graphs, shapes_, options_); }
  const TapeModel& model(bool closed) const { return kind(closed).model; }

  bool exact() const;
  /// Why it is not exact.
  std::string difference() const;
  /// Something was seen that the tape does not have. Ranges stay as they are: what finds no room in one comes
  /// from the heap.
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
