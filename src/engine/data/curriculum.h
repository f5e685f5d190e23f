#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Which training graphs an epoch sees: all with an attack, and of the benign ones those that an autoencoder
/// found hardest (KD-GAT, graphids/pipeline/stages). With t = (epoch - 1) / epochs and A attacks:
///
/// kdgat: of the benign graphs at or above percentile 75 + 20t of difficulty the hardest A (1 + 9t).
/// hard_4to1: the hardest 4A, in every epoch (arXiv 2508.04845).
///
/// Thread-safe.
class Curriculum {
 public:
  /// `difficulty` has a number for each graph of the source, used for benign ones of `training`; empty: not
  /// known yet. Errors: UsageError for another schedule.
  Curriculum(const std::string& schedule, std::span<const int64_t> training,
             std::span<const GraphShape> shapes, std::span<const float> difficulty, int64_t epochs);

  bool known() const { return known_; }
  /// The graphs of an epoch, counted from 1, in the order of the data set, into memory that is used again.
  void graphs_of(int64_t epoch, GraphList& graphs) const;
  /// How many of them are benign.
  int64_t benign_of(int64_t epoch) const;

 private:
  bool moves_;
  bool known_;
  int64_t epochs_;
  GraphList attacks_;
  GraphList hardest_;  // benign graphs, the hardest first, those of equal difficulty by index
  Vector<float, Tag::columns> difficulty_;  // of hardest_
};

/// The same for a run that may have none: then all of `training`.
void graphs_of_epoch(std::span<const int64_t> training, const Curriculum* curriculum, int64_t epoch,
                     GraphList& graphs);

}  // namespace plimsoll
