#include "sample/neighbour/random_walks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "sample/topology/damaged_topology.h"

namespace plimsoll {
namespace {

// Walks that are read together with their neighbours lie within a few of so many parts of the file.
constexpr int kPartBits = 12;
// Of a walk: two columns of walks of 4; biased, two more, and one of numbers. And of one that is read with
// others, whose list may have to be searched number by number.
constexpr int64_t kWalkBytes = 2 * 4;
constexpr int64_t kBiasedBytes = kWalkBytes + 3 * 4;
constexpr int64_t kTogetherBytes = 8 + 16 + 2 * (8 + 8 + 8 + 4) + 1 + 73;
// Beyond these a chance is as good as none, and at last it is no number.
constexpr double kLeastBias = 1e-9;
constexpr double kMostBias = 1e9;
// Random numbers of a step, three a draw, after which a neighbour is chosen: of draws at a leaf one in p is
// taken.
constexpr uint32_t kMostNumbers = 1 << 12;
constexpr int64_t kChosenTogether = 64;

bool is_bias(double value) {
  return value >= kLeastBias && value <= kMostBias;
}

// Calls use(part) for some of them at a time.
template <typename Use>
void in_parts(std::span<const uint32_t> walks, size_t most, const Use& use) {
  for (size_t first = 0; first < walks.size(); first += most)
    use(walks.subspan(first, std::min(most, walks.size() - first)));
}

}  // namespace

template <typename T>
RandomWalks<T>::RandomWalks(const Topology& topology, const WalkOptions& options, uint64_t seed,
                            Reading reading)
    : topology_(topology), options_(options), seed_(seed), reading_(reading) {
  for (const int64_t number : {options.length, options.walks_per_node})
    if (number < 0 || number > UINT32_MAX)
      throw UsageError(fmt::format("random walks: found {} steps and {} walks a node, expected 0 to 2^32 - 1",
                                   options.length, options.walks_per_node));
  if (!is_bias(options.p) || !is_bias(options.q))
    throw UsageError(fmt::format("random walks: found p {} and q {}, expected numbers from 1e-9 to 1e9",
                                 options.p, options.q));
  const double most = std::max({1 / options.p, 1.0, 1 / options.q});
  back_ = 1 / options.p / most;
  near_ = 1 / most;
  far_ = 1 / options.q / most;
}

template <typename T>
int64_t RandomWalks<T>::bytes_for(int64_t starts, const WalkOptions& options) {
  const int64_t walks = starts * options.walks_per_node;
  constexpr int64_t kNode = sizeof(T);
  return starts * 8 + walks * (options.is_uniform() ? kNode + kWalkBytes : 3 * kNode + kBiasedBytes) +
         std::min(walks, kTogether) * kTogetherBytes;
}

template <typename T>
void RandomWalks<T>::walk(std::span<const int64_t> starts, uint32_t epoch, Walks<T>& out) {
  begin(starts, epoch);
  const auto places = static_cast<size_t>(options_.length) + 1;
  out.resize(at_.size() * places);
  for (size_t place = 0; place < places; ++place) {
    if (place > 0) step();
    for (size_t walk = 0; walk < at_.size(); ++walk) out[walk * places + place] = at_[walk];
  }
}

template <typename T>
void RandomWalks<T>::begin(std::span<const int64_t> starts, uint32_t epoch) {
  const size_t walks = starts.size() * each();
  if (walks > UINT32_MAX)
    throw UsageError(fmt::format("random walks: found {} walks, expected up to 2^32 - 1 at a time", walks));
  require_nodes(starts, topology_.nodes());
  keys_.resize(starts.size());
  at_.resize(walks);
  for (size_t i = 0; i < starts.size(); ++i) {
    keys_[i] = item_key(seed_, Purpose::walks, epoch, starts[i]);
    std::fill_n(at_.begin() + static_cast<std::ptrdiff_t>(i * each()), each(), static_cast<T>(starts[i]));
  }
  step_ = 0;
  if (options_.is_uniform()) return;
  before_ = at_;
  drawn_.resize(walks);
  numbers_.resize(walks);
  asked_.reserve(walks);
  again_.reserve(walks);
}

template <typename T>
void RandomWalks<T>::step() {
  const bool biased = step_ > 0 && !options_.is_uniform();
  waiting_.resize(at_.size());
  std::iota(waiting_.begin(), waiting_.end(), 0U);
  if (biased) std::ranges::fill(numbers_, 0);
  while (!waiting_.empty()) {
    if (interrupt_requested) throw Interrupted("interrupted while random walks were made");
    asked_.clear();
    again_.clear();
    sort(waiting_, at_);
    in_parts(waiting_, kTogether, [&](Part walks) { draw(walks, biased); });
    sort(asked_, before_);
    in_parts(asked_, kTogether, [&](Part walks) { look_up(walks); });
    if (again_.empty()) break;  // and waiting_ keeps its memory
    std::swap(waiting_, again_);
  }
  ++step_;
}

// By the part of the file in which the list of its node is.
template <typename T>
void RandomWalks<T>::sort(Column<uint32_t>& walks, const Column<T>& nodes) {
  if (reading_ == Reading::memory || walks.size() < 2) return;
  const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(topology_.nodes())));
  const int shift = std::max(0, bits - kPartBits);
  std::array<uint32_t, (size_t{1} << kPartBits) + 1> begins{};
  for (const uint32_t walk : walks) ++begins[static_cast<size_t>(nodes[walk] >> shift) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  sorted_.resize(walks.size());
  for (const uint32_t walk : walks) sorted_[begins[static_cast<size_t>(nodes[walk] >> shift)]++] = walk;
  std::swap(walks, sorted_);
}

// Draws a neighbour, or some to choose from, for each walk.
template <typename T>
void RandomWalks<T>::draw(Part walks, bool biased) {
  const size_t draws = biased && reading_ == Reading::disk ? kDraws : 1;
  nodes_.resize(walks.size());
  lists_.resize(walks.size());
  for (size_t i = 0; i < walks.size(); ++i) nodes_[i] = static_cast<int64_t>(at_[walks[i]]);
  topology_.read_lists(nodes_, lists_);
  edges_.resize(walks.size() * draws);
  chances_.resize(biased ? edges_.size() : 0);
  used_.resize(chances_.size());
  size_t count = 0;
  for (size_t i = 0; i < walks.size(); ++i) {
    const auto [first, degree] = lists_[i];
    if (degree == 0) continue;
    Draws numbers = numbers_of(walks[i]);
    if (biased) numbers.skip(numbers_[walks[i]]);
    for (const size_t end = count + draws; count < end; ++count) {
      edges_[count] = first + static_cast<int64_t>(numbers.below(static_cast<uint64_t>(degree)));
      if (!biased) continue;
      chances_[count] = numbers.uniform();
      used_[count] = numbers.drawn();
    }
  }
  edges_.resize(count);
  neighbours_.resize(count);
  topology_.read_neighbours(edges_, neighbours_);
  count = 0;
  for (size_t i = 0; i < walks.size(); ++i) {
    if (lists_[i].degree == 0) continue;
    if (biased)
      decide(walks[i], count, draws);
    else
      go(walks[i], neighbours_[count]);
    count += draws;
  }
}

// Of the step that is taken.
template <typename T>
Draws RandomWalks<T>::numbers_of(size_t walk) const {
  return {keys_[walk / each()], Purpose::walks,
          static_cast<uint64_t>(walk % each()) << 32 | static_cast<uint64_t>(step_)};
}

// Takes the first draw that is not rejected, or has it looked up, or lets the walk draw again.
template <typename T>
void RandomWalks<T>::decide(uint32_t walk, size_t first, size_t draws) {
  for (size_t i = first; i < first + draws; ++i) {
    if (numbers_[walk] >= kMostNumbers) return go(walk, choose(walk));
    const int64_t to = neighbours_[i];
    numbers_[walk] = used_[i];
    const bool back = to == static_cast<int64_t>(before_[walk]);
    if (chances_[i] < (back ? back_ : std::min(near_, far_))) return go(walk, to);
    if (back || chances_[i] >= std::max(near_, far_)) continue;
    drawn_[walk] = static_cast<T>(to);
    return asked_.push_back(walk);
  }
  again_.push_back(walk);
}

// Whether the neighbour that was drawn is in the list of the node before: of these and the others, it is of
// the likelier kind or rejected.
template <typename T>
void RandomWalks<T>::look_up(Part walks) {
  nodes_.resize(walks.size());
  lists_.resize(walks.size());
  neighbours_.resize(walks.size());
  found_.resize(walks.size());
  for (size_t i = 0; i < walks.size(); ++i) {
    nodes_[i] = static_cast<int64_t>(before_[walks[i]]);
    neighbours_[i] = static_cast<int64_t>(drawn_[walks[i]]);
  }
  topology_.read_lists(nodes_, lists_);
  topology_.find(lists_, neighbours_, found_);
  for (size_t i = 0; i < walks.size(); ++i) {
    if ((found_[i] != 0) == (near_ > far_))
      go(walks[i], neighbours_[i]);
    else
      again_.push_back(walks[i]);
  }
}

// By the sum of all chances, with one random number: where nearly all draws are rejected.
template <typename T>
int64_t RandomWalks<T>::choose(uint32_t walk) const {
  const std::array nodes{static_cast<int64_t>(at_[walk]), static_cast<int64_t>(before_[walk])};
  std::array<EdgeRange, 2> lists;
  topology_.read_lists(nodes, lists);
  double sum = 0;
  const auto add = [&](int64_t, double chance) {
    sum += chance;
    return true;
  };
  for_each_chance(lists[0], nodes[1], lists[1], add);
  Draws numbers = numbers_of(walk);
  numbers.skip(numbers_[walk]);
  double left = numbers.uniform() * sum;
  int64_t chosen = 0;
  const auto take = [&](int64_t node, double chance) {
    chosen = node;
    left -= chance;
    return left > 0;
  };
  for_each_chance(lists[0], nodes[1], lists[1], take);
  return chosen;
}

// Calls use(neighbour, its chance) until that is false.
template <typename T>
template <typename Use>
void RandomWalks<T>::for_each_chance(const EdgeRange& list, int64_t before, const EdgeRange& near,
                                     const Use& use) const {
  std::array<int64_t, kChosenTogether> edges;
  std::array<int64_t, kChosenTogether> nodes;
  std::array<EdgeRange, kChosenTogether> lists;
  std::array<uint8_t, kChosenTogether> found;
  lists.fill(near);
  for (int64_t first = 0; first < list.degree; first += kChosenTogether) {
    const auto count = static_cast<size_t>(std::min(list.degree - first, kChosenTogether));
    std::iota(edges.begin(), edges.end(), list.first + first);
    topology_.read_neighbours({edges.data(), count}, {nodes.data(), count});
    topology_.find({lists.data(), count}, {nodes.data(), count}, {found.data(), count});
    for (size_t i = 0; i < count; ++i)
      if (!use(nodes[i], nodes[i] == before ? back_ : found[i] != 0 ? near_ : far_)) return;
  }
}

template <typename T>
void RandomWalks<T>::go(uint32_t walk, int64_t to) {
  if (!before_.empty()) before_[walk] = at_[walk];
  at_[walk] = static_cast<T>(to);
}

template class RandomWalks<uint32_t>;
template class RandomWalks<int64_t>;

}  // namespace plimsoll
