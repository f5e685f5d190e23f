#pragma once

#include <cstdint>
#include <span>

#include "config/sections/curriculum.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Selects the training graphs of each epoch: all attacks, and the benign graphs that an autoencoder found
/// hardest (KD-GAT, graphids/pipeline/stages). With t = (epoch - 1) / epochs and A attack graphs:
///
/// kdgat: among the benign graphs at or above percentile 75 + 20t of difficulty, the hardest A (1 + 9t).
/// hard_4to1: the hardest 4A, in every epoch (arXiv 2508.04845).
///
/// Thread-safe.
class Curriculum {
 public:
  /// `difficulty` has one number per graph of the source, of which those of the benign graphs in `training`
  /// are used; empty: not known yet. `schedule` must not be `none`. The object keeps no reference to its
  /// arguments. Errors: BudgetExceeded.
  Curriculum(CurriculumKind schedule, std::span<const int64_t> training, std::span<const GraphShape> shapes,
             std::span<const float> difficulty, int64_t epochs);

  bool known() const { return known_; }
  /// Writes the graphs of an epoch, counted from 1, in the order of the data set. The memory of `graphs` is
  /// reused.
  void graphs_of(int64_t epoch, GraphList& graphs) const;
  /// Number of benign graphs in an epoch.
  int64_t benign_of(int64_t epoch) const;

 private:
  bool moves_;
  bool known_;
  int64_t epochs_;
  GraphList attacks_;
  GraphList hardest_;  // Benign graphs, hardest first; graphs of equal difficulty by index.
  Vector<float, Tag::columns> difficulty_;  // Difficulty of each graph of hardest_.
};

/// Writes the graphs of an epoch; without a curriculum, all of `training`.
void graphs_of_epoch(std::span<const int64_t> training, const Curriculum* curriculum, int64_t epoch,
                     GraphList& graphs);

}  // namespace plimsoll
