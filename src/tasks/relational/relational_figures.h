#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tasks/relational/seed_spread.h"

namespace plimsoll {

/// A metric and its value; nothing if it is undefined.
using Figure = std::pair<std::string, std::optional<double>>;

/// The metrics of a model or rule, in the order of the columns of a table.
struct ModelFigures {
  std::string name;
  std::optional<int64_t> seed = {};  ///< Rules have neither seed nor loss.
  std::optional<double> loss = {};   ///< A model of recommendations has none either.
  std::vector<Figure> figures = {};
};

/// The metrics on one split.
struct RelationalResult {
  std::string split;
  int64_t seeds = 0;                        ///< Seeds that the figures are computed from.
  int64_t unknown_labels = 0;               ///< Other seeds, with a label that no training seed has.
  std::vector<ModelFigures> networks = {};  ///< One for each random seed of the run that has a model.
  std::vector<ModelFigures> rules = {};

  /// Returns the spread of the figure with this index over the networks; nothing if one of them has no value.
  std::optional<SeedSpread> spread(size_t figure) const {
    std::vector<std::optional<double>> values;
    for (const ModelFigures& network : networks) values.push_back(network.figures[figure].second);
    return SeedSpread::of(values);
  }
};

/// The name of a network in results.
inline constexpr const char* kNetwork = "relational";

}  // namespace plimsoll
