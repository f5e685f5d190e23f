#pragma once

#include <span>
#include <string>
#include <vector>

#include "sample/batches.h"
#include "sample/block.h"

namespace plimsoll {

/// Which graphs train a model and which judge it while it trains.
struct TrainingSplit {
  GraphList training;
  GraphList validation;
  GraphList test = {};                     ///< graphs that neither gets
  std::vector<std::string> used = {};      ///< recordings, "split/name"
  std::vector<std::string> contents = {};  ///< content_of each of them
  std::vector<std::string> copies = {};    ///< left out because one with the same content is used already
};

/// What is equal for recordings with the same content and for no others.
std::string content_of(const GraphRange& recording);

/// Validation is the last `validation` share of each training recording, behind an embargo of `embargo`
/// graphs that neither side gets: windows next to each other are alike. A content that occurs twice is used
/// once, so copies never stand on both sides. Errors: InputError when no graph is left to train on.
TrainingSplit split_by_time(const GraphSetTables& tables, double validation, int64_t embargo);

/// For graphs that have nothing to do with each other: of every label, `validation` and `test` shares of its
/// graphs, drawn by `seed`. Takes the splits that train, or all graphs where no split is named so. Errors:
/// InputError when no graph is left to train on, or to validate on.
TrainingSplit split_by_graph(const GraphSetTables& tables, std::span<const GraphShape> shapes,
                             double validation, double test, uint64_t seed);

}  // namespace plimsoll
