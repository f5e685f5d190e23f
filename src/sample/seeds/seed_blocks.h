#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sample/block/batches.h"

namespace plimsoll {

/// Nodes of one giant graph that are to be judged, and what is known of them; or edges that are.
struct SeedList {
  std::string name;                           ///< of the split
  Vector<int64_t, Tag::columns> nodes = {};   ///< all different
  Vector<int64_t, Tag::columns> labels = {};  ///< of each; -1: none
  std::span<const int64_t> edges = {};        ///< [n, 2] in place of nodes; of who made the list

  int64_t size() const { return static_cast<int64_t>(edges.empty() ? nodes.size() : edges.size() / 2); }
};

struct SeedBlockOptions {
  int64_t epochs = 1;
  int64_t batch_size = 1024;  ///< seeds of a step
  int64_t block_seeds = 128;  ///< seeds of a block, but for the last of a step or list
  uint64_t seed = 0;          ///< of the order in which an epoch visits the training seeds
};

/// The blocks of seeds that a run works on, by number: those of epoch 1, epoch 2, ... of the first list,
/// which trains, shuffled again in each; then those of each further list in its order. Nothing is kept of a
/// block: any can be made at any time. Thread-safe.
class SeedBlocks {
 public:
  /// Errors: InputError where a list is empty.
  SeedBlocks(std::vector<SeedList> lists, const SeedBlockOptions& options);

  struct Block {
    size_t list = 0;
    uint32_t epoch = 0;  ///< from 1; 0 in lists that do not train
    int64_t first = 0;   ///< of its seeds, a place in the epoch or list
    int64_t count = 0;
  };
  Block block(int64_t number) const;
  int64_t blocks() const { return begins_.back(); }
  /// Blocks of one step, and of one epoch.
  int64_t per_batch() const;
  int64_t per_epoch() const { return blocks_of_epoch_; }
  /// Of all epochs: the numbers of training blocks end there.
  int64_t training_blocks() const { return begins_[1]; }
  /// The numbers of a list's blocks; of the first those of epoch 1.
  GraphList numbers(size_t list) const;

  /// Where the seeds of a block stand in its list.
  void places(const Block& block, Vector<int64_t, Tag::blocks>& places) const;
  /// The seeds of a block, which are nodes, and their labels.
  void seeds(const Block& block, Vector<int64_t, Tag::blocks>& nodes,
             Vector<int64_t, Tag::blocks>& labels) const;
  const std::vector<SeedList>& lists() const { return lists_; }

 private:
  std::vector<SeedList> lists_;
  SeedBlockOptions options_;
  int64_t blocks_of_epoch_ = 0;
  std::vector<int64_t> begins_;  // of each list: the number of its first block; and the end
};

}  // namespace plimsoll
