#include "sample/neighbour/neighbour_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int64_t kWordBits = 64;
constexpr int64_t kPiece = 1024;  // Edges whose weights are read together.

}  // namespace

// Chooses from the list without the excluded edges, then shifts the choice past them.
int64_t NeighbourChoice::uniform(EdgeRange list, int64_t count, bool replace, Draws& draws, int64_t* out,
                                 Without without) {
  for (const EdgeRun& run : without) list.degree -= run.end - run.begin;
  const int64_t chosen = choose(list, count, replace, draws, out);
  for (int64_t* edge = out; edge != out + chosen; ++edge)
    for (const EdgeRun& run : without) {
      if (*edge < run.begin) break;
      *edge += run.end - run.begin;
    }
  return chosen;
}

int64_t NeighbourChoice::choose(EdgeRange list, int64_t count, bool replace, Draws& draws, int64_t* out) {
  const int64_t chosen = max(list.degree, count, replace);
  if (chosen == 0) return 0;
  if (count < 0 || (!replace && chosen == list.degree)) {
    std::iota(out, out + chosen, list.first);
    return chosen;
  }
  if (replace) {
    for (int64_t i = 0; i < count; ++i)
      out[i] = list.first + static_cast<int64_t>(draws.below(static_cast<uint64_t>(list.degree)));
    return count;
  }
  return list.degree <= kWordBits * count ? floyd(list, count, draws, out)
                                          : first_different(list, count, draws, out);
}

int64_t NeighbourChoice::floyd(EdgeRange list, int64_t count, Draws& draws, int64_t* out) {
  const auto words = static_cast<size_t>((list.degree + kWordBits - 1) / kWordBits);
  if (taken_.size() < words) taken_.resize(words);
  std::fill_n(taken_.begin(), words, uint64_t{0});
  for (int64_t last = list.degree - count; last < list.degree; ++last) {
    uint64_t place = draws.below(static_cast<uint64_t>(last) + 1);
    if (taken_[place / kWordBits] >> (place % kWordBits) & 1) place = static_cast<uint64_t>(last);
    taken_[place / kWordBits] |= uint64_t{1} << (place % kWordBits);
  }
  for (size_t word = 0; word < words; ++word)
    for (uint64_t bits = taken_[word]; bits != 0; bits &= bits - 1)
      *out++ = list.first + static_cast<int64_t>(word) * kWordBits + std::countr_zero(bits);
  return count;
}

// Each round draws exactly as many numbers as are missing. The result is therefore the first `count`
// different numbers of an infinite sequence of independent draws, and all sets are equally likely. In a long
// list, few numbers are drawn twice.
int64_t NeighbourChoice::first_different(EdgeRange list, int64_t count, Draws& draws, int64_t* out) {
  for (int64_t* end = out; end != out + count; end = std::unique(out, end)) {
    for (; end != out + count; ++end)
      *end = list.first + static_cast<int64_t>(draws.below(static_cast<uint64_t>(list.degree)));
    std::sort(out, end);
  }
  return count;
}

int64_t NeighbourChoice::weighted(const Topology& topology, EdgeRange list, int64_t count, bool replace,
                                  Draws& draws, int64_t* out, Without without) {
  if (count < 0) return uniform(list, count, replace, draws, out, without);
  if (count == 0 || list.degree == 0) return 0;
  return replace ? by_sums(topology, list, without, count, draws, out)
                 : smallest_keys(topology, list, without, count, draws, out);
}

// Calls use(edge, weight) for the edges of a list that have a weight above 0 and are not in `without`.
template <typename Use>
void NeighbourChoice::each_weight(const Topology& topology, EdgeRange list, Without without, const Use& use) {
  const EdgeRun* run = without.data();
  const EdgeRun* const last = run + without.size();
  edges_.resize(kPiece);
  weights_.resize(kPiece);
  for (int64_t first = 0; first < list.degree; first += kPiece) {
    const auto piece = static_cast<size_t>(std::min(kPiece, list.degree - first));
    std::iota(edges_.begin(), edges_.begin() + static_cast<int64_t>(piece), list.first + first);
    topology.read_weights(std::span(edges_).first(piece), std::span(weights_).first(piece));
    for (size_t i = 0; i < piece; ++i) {
      if (!(weights_[i] >= 0) || !std::isfinite(weights_[i]))
        throw InputError(fmt::format("weights: found {} at edge {}, expected 0 or a positive number",
                                     weights_[i], edges_[i]));
      while (run != last && run->end <= edges_[i]) ++run;
      const bool is_left_out = run != last && run->begin <= edges_[i];
      if (weights_[i] > 0 && !is_left_out) use(edges_[i], static_cast<double>(weights_[i]));
    }
  }
}

int64_t NeighbourChoice::smallest_keys(const Topology& topology, EdgeRange list, Without without,
                                       int64_t count, Draws& draws, int64_t* out) {
  keys_.clear();
  each_weight(topology, list, without, [&](int64_t edge, double weight) {
    const std::pair key(-std::log1p(-draws.uniform()) / weight, edge);
    if (static_cast<int64_t>(keys_.size()) == count) {
      if (keys_.front() < key) return;
      std::pop_heap(keys_.begin(), keys_.end());
      keys_.pop_back();
    }
    keys_.push_back(key);
    std::push_heap(keys_.begin(), keys_.end());
  });
  int64_t* end = out;
  for (const auto& [key, edge] : keys_) *end++ = edge;
  std::sort(out, end);
  return end - out;
}

int64_t NeighbourChoice::by_sums(const Topology& topology, EdgeRange list, Without without, int64_t count,
                                 Draws& draws, int64_t* out) {
  double sum = 0;
  each_weight(topology, list, without, [&](int64_t, double weight) { sum += weight; });
  if (sum == 0) return 0;
  points_.resize(static_cast<size_t>(count));
  for (double& point : points_) point = draws.uniform() * sum;
  std::sort(points_.begin(), points_.end());

  size_t chosen = 0;
  double reached = 0;
  int64_t last = list.first;
  each_weight(topology, list, without, [&](int64_t edge, double weight) {
    reached += weight;
    last = edge;
    while (chosen < points_.size() && points_[chosen] < reached) out[chosen++] = edge;
  });
  std::fill(out + chosen, out + count, last);  // Rounding may have raised the last point to the sum.
  return count;
}

}  // namespace plimsoll
