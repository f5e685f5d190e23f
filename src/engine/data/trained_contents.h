#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/data/split.h"
#include "memory/vector.h"

namespace plimsoll {

/// What a model has seen of its data, by content, so that it can be told apart in other data: recordings by
/// content_of(), or where the data has none in use, graphs by hash_of_graph().
struct TrainedContents {
  std::vector<std::string> recordings = {};
  Vector<int64_t, Tag::columns> graphs = {};  ///< ascending
  std::string split = {};                     ///< hash_of_split(); "" in files of older versions

  /// Of what trains or validates.
  static TrainedContents of(const BlockSource& source, const TrainingSplit& split);
  /// Whether nothing is known, as of a model file of an older version.
  bool empty() const { return recordings.empty() && graphs.empty(); }
  bool has_graph(int64_t hash) const;
  /// Whether `other`, a split of the same data is what the model has seen.
  bool is_of(const TrainingSplit& other) const { return split.empty() || split == hash_of_split(other); }
};

/// XXH3-64 of the features, edges and positions of graph `graph`, which is read into `block`; labels and
/// targets do not count.
int64_t hash_of_graph(const BlockSource& source, int64_t graph, GraphBlock& block);

}  // namespace plimsoll
