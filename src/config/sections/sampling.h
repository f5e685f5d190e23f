#pragma once

#include <cstdint>
#include <vector>

#include "config/checks.h"

namespace plimsoll {

/// Sampling of the neighbourhood of a seed, for one giant graph.
struct SamplingSection {
  std::vector<int64_t> fan_outs = {15, 10, 5};  ///< Neighbours per node, hop by hop; -1: all.
  bool replace = false;                         ///< Whether an edge may be sampled more than once.
  bool weighted = false;                        ///< Whether edges are sampled in proportion to their weights.
  int64_t negatives = 1;                        ///< Number of pairs without an edge per pair with an edge.
  bool exclude_targets = true;  ///< Do not sample the edges that a block predicts, in either direction.
};

template <EitherOf<SamplingSection> Section, typename Visit>
void visit_keys(Section& sampling, Visit&& visit) {
  visit("fan_outs", sampling.fan_outs, EachInRange{-1, 65536});
  visit("replace", sampling.replace, Flag{});
  visit("weighted", sampling.weighted, Flag{});
  visit("negatives", sampling.negatives, Range{1, 1024});
  visit("exclude_targets", sampling.exclude_targets, Flag{});
}

}  // namespace plimsoll
