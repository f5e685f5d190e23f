#pragma once

#include <string>
#include <vector>

namespace plimsoll {

/// A metrics.csv: numbers by column and epoch.
struct MetricsTable {
  std::vector<std::string> names;           ///< of the columns
  std::vector<std::vector<double>> values;  ///< [columns][epochs]; NaN where there is no number

  /// The values of a column; empty where there is none of this name.
  std::vector<double> column(const std::string& name) const;
};

MetricsTable parse_metrics(const std::string& csv);

}  // namespace plimsoll
