#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "memory/vector.h"
#include "sample/seeds/draws.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// The edges begin .. end-1 of a neighbour list.
struct EdgeRun {
  int64_t begin;
  int64_t end;
};

/// Chooses some edges of one neighbour list. Not thread-safe: it keeps scratch memory for `count` edges,
/// never for a whole list. The chosen edges are in ascending order, except with replacement and without
/// weights.
class NeighbourChoice {
 public:
  static constexpr int64_t kAll = -1;
  /// Edges of the list that are excluded from the choice, ascending.
  using Without = std::span<const EdgeRun>;

  /// Returns the maximum number of edges that are chosen from a list of `degree` edges.
  static int64_t max(int64_t degree, int64_t count, bool replace) {
    if (degree == 0 || count < 0) return degree;
    return replace || count < degree ? count : degree;
  }

  /// Writes `count` edges of `list` to `out`, each with the same probability. Chooses the whole list if
  /// `count` is kAll, or if there is no replacement and the list has at most `count` edges. Returns the
  /// number of edges: max() of the edges that are not excluded; `out` must have space for them. Without
  /// replacement the cost is O(count log count) at any degree: Floyd's algorithm over a bit set (Bentley and
  /// Floyd, "A sample of brilliance", CACM 30(9), 1987) for short lists, otherwise the first `count`
  /// different numbers drawn.
  int64_t uniform(EdgeRange list, int64_t count, bool replace, Draws& draws, int64_t* out,
                  Without without = {});

  /// Does the same with probabilities proportional to the weights of the edges. Reads all weights, some at a
  /// time, unless `count` is kAll. With replacement, draws are independent. Without it, the probability of
  /// each draw is proportional to the weights of the remaining edges: the `count` smallest of exponential
  /// keys -log(u) / w are chosen (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", IPL
  /// 97(5), 2006). An edge of weight 0 is only chosen by kAll, so there may be fewer than max() edges.
  /// Errors: InputError for a weight that is read and is negative or not finite; those of the topology;
  /// BudgetExceeded.
  int64_t weighted(const Topology& topology, EdgeRange list, int64_t count, bool replace, Draws& draws,
                   int64_t* out, Without without = {});

 private:
  int64_t choose(EdgeRange list, int64_t count, bool replace, Draws& draws, int64_t* out);
  int64_t floyd(EdgeRange list, int64_t count, Draws& draws, int64_t* out);
  int64_t first_different(EdgeRange list, int64_t count, Draws& draws, int64_t* out);
  int64_t smallest_keys(const Topology& topology, EdgeRange list, Without without, int64_t count,
                        Draws& draws, int64_t* out);
  int64_t by_sums(const Topology& topology, EdgeRange list, Without without, int64_t count, Draws& draws,
                  int64_t* out);
  template <typename Use>
  void each_weight(const Topology& topology, EdgeRange list, Without without, const Use& use);

  Vector<uint64_t, Tag::blocks> taken_;  // One bit per edge of the list.
  Vector<int64_t, Tag::blocks> edges_;   // A part of a list, followed by its weights.
  Vector<float, Tag::blocks> weights_;
  Vector<std::pair<double, int64_t>, Tag::blocks> keys_;  // A max-heap.
  Vector<double, Tag::blocks> points_;                    // Ascending, in 0 .. sum of weights.
};

}  // namespace plimsoll
