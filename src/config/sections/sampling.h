#pragma once

#include <cstdint>
#include <vector>

#include "config/checks.h"

namespace plimsoll {

/// How the neighbours of a seed are sampled, for one giant graph and, with `fan_outs` alone, for
/// `relational`.
struct SamplingSection {
  /// Neighbours per node, hop by hop; `relational`: per node and edge type. -1: all.
  std::vector<int64_t> fan_outs = {15, 10, 5};
  bool replace = false;   ///< Whether an edge may be sampled more than once.
  bool weighted = false;  ///< Whether edges are sampled in proportion to their weights.
  int64_t negatives = 1;  ///< `link_prediction`: number of pairs without an edge per pair with an edge.
  /// `link_prediction`: leave the edges that a block predicts, and their reverses, out of its sample.
  bool exclude_targets = true;
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
