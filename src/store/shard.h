#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/json.h"

namespace plimsoll {

/// Part `number` of `of` of the work of making one data set, 1 and 1 for all of it. The parts are sets of
/// their own, of which merge_shards() makes the one that a single process would have made.
struct Shard {
  int64_t number = 1;
  int64_t of = 1;

  bool is_all() const { return of == 1; }
  /// "2/8". Errors: UsageError.
  static Shard parse(const std::string& text);
  /// The consecutive items that belong to it: [first, end). Items weigh, and shards weigh about the same; one
  /// may have none.
  std::pair<size_t, size_t> items(std::span<const int64_t> weights) const;
  /// The same of `count` items that weigh the same.
  std::pair<int64_t, int64_t> items(int64_t count) const;
  /// The entry "shard" of a provenance's options. `all` identifies what all shards are made from.
  Json to_json(const std::string& all) const;
};

}  // namespace plimsoll
