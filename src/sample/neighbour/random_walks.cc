#include "sample/neighbour/random_walks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace plimsoll {

RandomWalks::RandomWalks(const Topology& topology, const WalkOptions& options, uint64_t seed)
    : topology_(topology), options_(options), seed_(seed), search_(topology) {
  for (const int64_t number : {options.length, options.walks_per_node})
    if (number < 0 || number > UINT32_MAX)
      throw UsageError(fmt::format("random walks: found {} steps and {} walks a node, expected 0 to 2^32 - 1",
                                   options.length, options.walks_per_node));
  if (!(options.p > 0) || !(options.q > 0))
    throw UsageError(
        fmt::format("random walks: found p {} and q {}, expected numbers above 0", options.p, options.q));
}

void RandomWalks::walk(std::span<const int64_t> starts, uint32_t epoch, Walks& out) {
  begin(starts, epoch);
  const auto places = static_cast<size_t>(options_.length) + 1;
  out.resize(at_.size() * places);
  for (size_t walk = 0; walk < at_.size(); ++walk) out[walk * places] = at_[walk];
  for (int64_t step = 0; step < options_.length; ++step) {
    begin_step(step);
    while (!waiting_.empty()) {
      draw();
      chances_.assign(waiting_.size(), 1);
      if (step > 0 && (options_.p != 1 || options_.q != 1)) weigh();
      accept();
    }
    for (size_t walk = 0; walk < at_.size(); ++walk)
      out[walk * places + static_cast<size_t>(step) + 1] = at_[walk];
  }
}

void RandomWalks::begin(std::span<const int64_t> starts, uint32_t epoch) {
  const auto each = static_cast<size_t>(options_.walks_per_node);
  keys_.clear();
  at_.clear();
  for (const int64_t start : starts) {
    keys_.push_back(item_key(seed_, Purpose::walks, epoch, start));
    at_.insert(at_.end(), each, start);
  }
  before_ = at_;
  lists_.resize(at_.size());
  older_.resize(at_.size());
}

void RandomWalks::begin_step(int64_t step) {
  std::swap(older_, lists_);
  topology_.read_lists(at_, lists_);
  draws_.clear();
  waiting_.clear();
  const auto each = static_cast<size_t>(options_.walks_per_node);
  for (size_t walk = 0; walk < at_.size(); ++walk) {
    const uint64_t part = static_cast<uint64_t>(walk % each) << 32 | static_cast<uint64_t>(step);
    draws_.emplace_back(keys_[walk / each], Purpose::walks, part);
    if (lists_[walk].degree > 0) waiting_.push_back(walk);
  }
}

void RandomWalks::draw() {
  edges_.clear();
  for (const size_t walk : waiting_) {
    const EdgeRange& list = lists_[walk];
    edges_.push_back(list.first +
                     static_cast<int64_t>(draws_[walk].below(static_cast<uint64_t>(list.degree))));
  }
  neighbours_.resize(edges_.size());
  topology_.read_neighbours(edges_, neighbours_);
}

// The chance of each neighbour drawn, relative to that of the likeliest kind.
void RandomWalks::weigh() {
  back_.clear();
  for (const size_t walk : waiting_) back_.push_back(older_[walk]);
  places_.resize(back_.size());
  near_.resize(back_.size());
  search_.find(back_, neighbours_, places_, near_);
  const double most = std::max({1 / options_.p, 1.0, 1 / options_.q});
  for (size_t i = 0; i < waiting_.size(); ++i) {
    const bool is_back = neighbours_[i] == before_[waiting_[i]];
    chances_[i] = (is_back ? 1 / options_.p : near_[i] != 0 ? 1 : 1 / options_.q) / most;
  }
}

void RandomWalks::accept() {
  size_t still = 0;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    const size_t walk = waiting_[i];
    if (chances_[i] < 1 && draws_[walk].uniform() >= chances_[i]) {
      waiting_[still++] = walk;
      continue;
    }
    before_[walk] = std::exchange(at_[walk], neighbours_[i]);
  }
  waiting_.resize(still);
}

}  // namespace plimsoll
