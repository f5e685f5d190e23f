#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/data/split.h"
#include "memory/vector.h"

namespace plimsoll {

/// The contents of the data that a model has seen, so that other data can be checked for them: recordings by
/// content_of(), or graphs by hash_of_graph() if no recordings of the data are in use.
struct TrainedContents {
  std::vector<std::string> recordings = {};
  Vector<int64_t, Tag::columns> graphs = {};  ///< Ascending.
  std::string split = {};                     ///< hash_of_split(); "" in files of older versions.

  /// Returns the contents of the training and validation graphs of a split. Reads all these graphs if no
  /// recordings are in use. Errors: Interrupted; those of BlockSource::read().
  static TrainedContents of(const BlockSource& source, const TrainingSplit& split);
  /// Returns whether nothing is known, as for model files of older versions.
  bool empty() const { return recordings.empty() && graphs.empty(); }
  bool has_graph(int64_t hash) const;
  /// Returns whether `other`, a split of the same data, is the split on which the model was trained. True if
  /// the file does not record the split.
  bool is_of(const TrainingSplit& other) const { return split.empty() || split == hash_of_split(other); }
};

/// Returns XXH3-64 of the features, edges and positions of graph `graph`, which is read into `block`. Labels
/// and targets are not included. Errors: those of BlockSource::read().
int64_t hash_of_graph(const BlockSource& source, int64_t graph, GraphBlock& block);

}  // namespace plimsoll
