#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sample/block/batches.h"

namespace plimsoll {

/// Nodes of one giant graph to predict, with their labels, or edges to predict.
struct SeedList {
  std::string name;                           ///< Name of the split.
  Vector<int64_t, Tag::columns> nodes = {};   ///< Nodes, all different.
  Vector<int64_t, Tag::columns> labels = {};  ///< Label of each node; -1 means no label.
  std::span<const int64_t> edges = {};        ///< [n, 2], instead of nodes. Owned by the caller.

  int64_t size() const { return static_cast<int64_t>(edges.empty() ? nodes.size() : edges.size() / 2); }
};

struct SeedBlockOptions {
  int64_t epochs = 1;
  int64_t batch_size = 1024;  ///< Seeds per step.
  int64_t block_seeds = 128;  ///< Seeds per block, except for the last block of a step or list.
  uint64_t seed = 0;          ///< Seed of the order in which an epoch visits the training seeds.
};

/// The blocks of seeds of a run, by number: first the blocks of the training list, shuffled again in each
/// epoch, for epochs 1, 2, ...; then the blocks of each further list, in the order of the list. No block is
/// stored, because each can be made at any time. Without lists there are no blocks. Thread-safe.
class SeedBlocks {
 public:
  /// Errors: InputError if a list is empty.
  SeedBlocks(std::vector<SeedList> lists, const SeedBlockOptions& options);

  struct Block {
    size_t list = 0;
    uint32_t epoch = 0;  ///< Epoch, counted from 1; 0 in lists that are not for training.
    int64_t first = 0;   ///< Index of the first seed in the epoch or list.
    int64_t count = 0;
  };
  Block block(int64_t number) const;
  int64_t blocks() const { return begins_.back(); }
  /// Return the number of blocks in a full step, and in an epoch.
  int64_t per_batch() const;
  int64_t per_epoch() const { return blocks_of_epoch_; }
  /// Returns the number of blocks in all epochs; training blocks have lower numbers than this.
  int64_t training_blocks() const { return begins_[1]; }
  /// Returns the block numbers of a list; for the first list, those of epoch 1.
  GraphList numbers(size_t list) const;

  /// Writes the indices of a block's seeds in its list to `places`.
  void places(const Block& block, Vector<int64_t, Tag::blocks>& places) const;
  /// Returns the seed nodes of a block and their labels. The block must be of a list of nodes.
  void seeds(const Block& block, Vector<int64_t, Tag::blocks>& nodes,
             Vector<int64_t, Tag::blocks>& labels) const;
  const std::vector<SeedList>& lists() const { return lists_; }

 private:
  std::vector<SeedList> lists_;
  SeedBlockOptions options_;
  int64_t blocks_of_epoch_ = 0;
  std::vector<int64_t> begins_;  // First block number of each list, followed by the end.
};

}  // namespace plimsoll
