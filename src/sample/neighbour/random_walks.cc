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

// Lists are read in the order of 2^kPartBits parts of the file.
constexpr int kPartBits = 12;
// Bytes per walk: two columns of 4 bytes, and for biased walks two more and one column of counters. Walks
// that are read together need further bytes each; their lists may have to be searched number by number.
constexpr int64_t kWalkBytes = 2 * 4;
constexpr int64_t kBiasedBytes = kWalkBytes + 3 * 4;
constexpr int64_t kTogetherBytes = 8 + 16 + 2 * (8 + 8 + 8 + 4) + 1 + 73;
// Beyond these limits a chance is practically 0, and eventually NaN.
constexpr double kMinBias = 1e-9;
constexpr double kMaxBias = 1e9;
// Maximum random numbers of a step, three per draw; then the neighbour is chosen exactly. Without triangles,
// about one draw in p and q is accepted. With p or q beyond 100 or 1/100, the limit is 64 draws if a short
// list decides.
constexpr uint32_t kMaxNumbers = 1 << 12;
constexpr uint32_t kFewNumbers = 3 << 6;
constexpr double kUsualBias = 100;
constexpr int64_t kShortList = 256;

bool is_bias(double value) {
  return value >= kMinBias && value <= kMaxBias;
}

bool is_usual(double value) {
  return value >= 1 / kUsualBias && value <= kUsualBias;
}

// Calls use(part) for up to `max` walks at a time.
template <typename Use>
void in_parts(std::span<const uint32_t> walks, size_t max, const Use& use) {
  for (size_t first = 0; first < walks.size(); first += max) {
    if (interrupt_requested) throw Interrupted("interrupted while random walks were made");
    use(walks.subspan(first, std::min(max, walks.size() - first)));
  }
}

}  // namespace

template <typename T>
RandomWalks<T>::RandomWalks(const Topology& topology, const WalkOptions& options, uint64_t seed,
                            Reading reading)
    : topology_(topology), options_(options), seed_(seed), reading_(reading) {
  for (const int64_t number : {options.length, options.walks_per_node})
    if (number < 0 || number > UINT32_MAX)
      throw UsageError(
          fmt::format("random walks: found {} steps and {} walks per node, expected 0 to 2^32 - 1",
                      options.length, options.walks_per_node));
  if (!is_bias(options.p) || !is_bias(options.q))
    throw UsageError(fmt::format("random walks: found p {} and q {}, expected numbers from 1e-9 to 1e9",
                                 options.p, options.q));
  const double max = std::max({1 / options.p, 1.0, 1 / options.q});
  chances_ = {.back = 1 / options.p / max, .near = 1 / max, .far = 1 / options.q / max};
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
    asked_.clear();
    again_.clear();
    sort(waiting_, at_);
    in_parts(waiting_, kTogether, [&](Part walks) { draw(walks, biased); });
    sort(asked_, before_);
    in_parts(asked_, kTogether, [&](Part walks) { look_up(walks); });
    if (again_.empty()) break;  // Swapping would lose the memory of waiting_.
    std::swap(waiting_, again_);
  }
  ++step_;
}

// Sorts walks by the part of the file with the list of their node.
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

// Draws one or several neighbours for each walk.
template <typename T>
void RandomWalks<T>::draw(Part walks, bool biased) {
  const size_t draws = biased && reading_ == Reading::disk ? kDraws : 1;
  nodes_.resize(walks.size());
  lists_.resize(walks.size());
  for (size_t i = 0; i < walks.size(); ++i) nodes_[i] = static_cast<int64_t>(at_[walks[i]]);
  topology_.read_lists(nodes_, lists_);
  edges_.resize(walks.size() * draws);
  accepted_.resize(biased ? edges_.size() : 0);
  used_.resize(accepted_.size());
  size_t count = 0;
  for (size_t i = 0; i < walks.size(); ++i) {
    const auto [first, degree] = lists_[i];
    if (degree == 0) continue;
    Draws numbers = numbers_of(walks[i]);
    if (biased) numbers.skip(numbers_[walks[i]]);
    for (const size_t end = count + draws; count < end; ++count) {
      edges_[count] = first + static_cast<int64_t>(numbers.below(static_cast<uint64_t>(degree)));
      if (!biased) continue;
      accepted_[count] = numbers.uniform();
      used_[count] = numbers.drawn();
    }
  }
  edges_.resize(count);
  neighbours_.resize(count);
  topology_.read_neighbours(edges_, neighbours_);
  count = 0;
  for (size_t i = 0; i < walks.size(); ++i) {
    if (lists_[i].degree == 0) continue;
    if (biased && lists_[i].degree > 1)
      decide(walks[i], count, draws);
    else
      go(walks[i], neighbours_[count]);
    count += draws;
  }
}

// Returns the random numbers of the current step.
template <typename T>
Draws RandomWalks<T>::numbers_of(size_t walk) const {
  return {keys_[walk / each()], Purpose::walks,
          static_cast<uint64_t>(walk % each()) << 32 | static_cast<uint64_t>(step_)};
}

// Accepts the first draw that is not rejected, requests a look-up for it, or makes the walk draw again.
template <typename T>
void RandomWalks<T>::decide(uint32_t walk, size_t first, size_t draws) {
  const auto [min, max] = std::minmax(chances_.near, chances_.far);
  for (size_t i = first; i < first + draws; ++i) {
    if (is_to_choose(walk, used_[i])) return choose(walk);
    const int64_t to = neighbours_[i];
    numbers_[walk] = used_[i];
    const bool back = to == static_cast<int64_t>(before_[walk]);
    if (accepted_[i] < (back ? chances_.back : min)) return go(walk, to);
    if (back || accepted_[i] >= max) continue;
    drawn_[walk] = static_cast<T>(to);
    return asked_.push_back(walk);
  }
  again_.push_back(walk);
}

// Returns whether to choose exactly instead of continuing after a draw that brings the random numbers used to
// `used`.
template <typename T>
bool RandomWalks<T>::is_to_choose(uint32_t walk, uint32_t used) const {
  if (numbers_[walk] >= kMaxNumbers) return true;
  if (numbers_[walk] >= kFewNumbers || used < kFewNumbers) return false;
  if (is_usual(options_.p) && is_usual(options_.q)) return false;
  const std::array nodes{static_cast<int64_t>(at_[walk]), static_cast<int64_t>(before_[walk])};
  std::array<EdgeRange, 2> lists;
  topology_.read_lists(nodes, lists);
  return std::min(lists[0].degree, lists[1].degree) <= kShortList;
}

// Chooses exactly, with one more random number.
template <typename T>
void RandomWalks<T>::choose(uint32_t walk) {
  Draws numbers = numbers_of(walk);
  numbers.skip(numbers_[walk]);
  go(walk, choose_step(topology_, chances_, static_cast<int64_t>(at_[walk]),
                       static_cast<int64_t>(before_[walk]), numbers.uniform()));
}

// Looks up whether the drawn neighbour is in the list of the previous node. It is accepted if it is of the
// likelier kind, otherwise rejected.
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
    if ((found_[i] != 0) == (chances_.near > chances_.far))
      go(walks[i], neighbours_[i]);
    else
      again_.push_back(walks[i]);
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
