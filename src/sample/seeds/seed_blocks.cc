#include "sample/seeds/seed_blocks.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "sample/seeds/seed_permutation.h"

namespace plimsoll {
namespace {

int64_t chunks(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace

SeedBlocks::SeedBlocks(std::vector<SeedList> lists, const SeedBlockOptions& options)
    : lists_(std::move(lists)), options_(options) {
  for (const SeedList& list : lists_)
    if (list.size() == 0)
      throw InputError("the split '" + list.name + "' of the graph has no " +
                       (list.edges.data() == nullptr ? "nodes" : "edges"));
  begins_ = {0, 0};
  if (lists_.empty()) return;
  const int64_t seeds = lists_.front().size();
  const int64_t rest = seeds % options.batch_size;
  blocks_of_epoch_ = seeds / options.batch_size * per_batch() + chunks(rest, options.block_seeds);
  begins_ = {0, options.epochs * blocks_of_epoch_};
  for (size_t list = 1; list < lists_.size(); ++list)
    begins_.push_back(begins_.back() + chunks(lists_[list].size(), options.block_seeds));
}

int64_t SeedBlocks::per_batch() const {
  return chunks(options_.batch_size, options_.block_seeds);
}

SeedBlocks::Block SeedBlocks::block(int64_t number) const {
  Block block;
  int64_t limit = 0;  // End of the step or list.
  if (number < begins_[1]) {
    const int64_t in_epoch = number % blocks_of_epoch_;
    const int64_t batch = in_epoch / per_batch();
    block.epoch = static_cast<uint32_t>(1 + number / blocks_of_epoch_);
    block.first = batch * options_.batch_size + in_epoch % per_batch() * options_.block_seeds;
    limit = std::min((batch + 1) * options_.batch_size, lists_.front().size());
  } else {
    block.list = static_cast<size_t>(std::ranges::upper_bound(begins_, number) - begins_.begin()) - 1;
    block.first = (number - begins_[block.list]) * options_.block_seeds;
    limit = lists_[block.list].size();
  }
  block.count = std::min(options_.block_seeds, limit - block.first);
  return block;
}

GraphList SeedBlocks::numbers(size_t list) const {
  GraphList numbers(static_cast<size_t>(list == 0 ? blocks_of_epoch_ : begins_[list + 1] - begins_[list]));
  std::iota(numbers.begin(), numbers.end(), begins_[list]);
  return numbers;
}

void SeedBlocks::places(const Block& block, Vector<int64_t, Tag::blocks>& places) const {
  const SeedPermutation order(options_.seed, block.epoch, block.list == 0 ? lists_.front().size() : 0);
  places.clear();
  for (int64_t place = block.first; place < block.first + block.count; ++place)
    places.push_back(block.list == 0 ? order(place) : place);
}

void SeedBlocks::seeds(const Block& block, Vector<int64_t, Tag::blocks>& nodes,
                       Vector<int64_t, Tag::blocks>& labels) const {
  const SeedList& list = lists_[block.list];
  places(block, nodes);
  labels.clear();
  for (int64_t& node : nodes) {
    const auto at = static_cast<size_t>(node);
    labels.push_back(list.labels[at]);
    node = list.nodes[at];
  }
}

}  // namespace plimsoll
