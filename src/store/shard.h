#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/json.h"

namespace plimsoll {

/// Part `number` (from 1) of the `shards` parts in which a data set is made; 1 of 1 is the whole set. The
/// result of each part is itself a data set. merge_shards() merges them into the set that a single process
/// would have made.
struct Shard {
  int64_t number = 1;
  int64_t shards = 1;

  bool is_all() const { return shards == 1; }
  /// Parses a text such as "2/8". Errors: UsageError.
  static Shard parse(const std::string& text);
  /// Returns the items of this shard as a range [first, end). All shards have about the same total weight. A
  /// shard may be empty.
  std::pair<size_t, size_t> items(std::span<const int64_t> weights) const;
  /// Returns the range of this shard among `count` items of equal weight.
  std::pair<int64_t, int64_t> items(int64_t count) const;
  /// Returns the entry "shard" of a provenance's options. `all` identifies the sources of all shards.
  Json to_json(const std::string& all) const;
};

}  // namespace plimsoll
