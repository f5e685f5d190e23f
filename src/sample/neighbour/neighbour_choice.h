#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "memory/vector.h"
#include "sample/seeds/draws.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// The edges begin .. end-1 of a list.
struct EdgeRun {
  int64_t begin;
  int64_t end;
};

/// Chooses some edges of one neighbour list. Not thread-safe: it keeps scratch memory, for `count` edges,
/// never for a whole list. What is chosen is in ascending order, except with replacement and without weights.
class NeighbourChoice {
 public:
  static constexpr int64_t kAll = -1;
  /// Edges of the list that are never chosen, as if it did not have them: ascending.
  using Without = std::span<const EdgeRun>;

  /// The most edges that are chosen from a list of so many.
  static int64_t max(int64_t degree, int64_t count, bool replace) {
    if (degree == 0 || count < 0) return degree;
    return replace || count < degree ? count : degree;
  }

  /// Writes `count` edges of `list` to `out`, all with the same probability; all of the list for kAll, and
  /// without replacement where it has no more. Returns how many: most(). Without replacement the cost is
  /// O(count log count) at any degree: Floyd's algorithm over a set of bits (Bentley and Floyd, "A sample of
  /// brilliance", CACM 30(9), 1987) where the list is short, else the first `count` different numbers drawn.
  int64_t uniform(EdgeRange list, int64_t count, bool replace, Draws& draws, int64_t* out,
                  Without without = {});

  /// The same with probabilities proportional to the weights of the edges. Reads all of them, some at a time.
  /// With replacement each draw is by itself; without, each is proportional to the weights of what is left:
  /// the `count` smallest of exponential keys -log(u) / w (Efraimidis and Spirakis, "Weighted random sampling
  /// with a reservoir", IPL 97(5), 2006). An edge of weight 0 is not chosen, except by kAll: there may be
  /// fewer than most().
  /// Errors: InputError for a weight that is negative or not finite.
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

  Vector<uint64_t, Tag::blocks> taken_;  // one bit a place of the list
  Vector<int64_t, Tag::blocks> edges_;   // a piece of a list, and its weights
  Vector<float, Tag::blocks> weights_;
  Vector<std::pair<double, int64_t>, Tag::blocks> keys_;  // a heap, the largest on top
  Vector<double, Tag::blocks> points_;                    // ascending, 0 .. sum of weights
};

}  // namespace plimsoll
