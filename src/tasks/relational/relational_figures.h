#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

/// A metric and its value; nothing if it is undefined.
using Figure = std::pair<std::string, std::optional<double>>;

/// The metrics of a model or rule, in the order of the columns of a table.
struct ModelFigures {
  std::string name;
  std::optional<double> loss;  ///< Rules have none, nor has a model of recommendations.
  std::vector<Figure> figures;
};

/// The metrics on one split.
struct RelationalResult {
  std::string split;
  int64_t seeds = 0;
  std::vector<ModelFigures> models;  ///< The network first, then the rules.
};

/// The name of the network in results.
inline constexpr const char* kNetwork = "relational";

}  // namespace plimsoll
