#pragma once

#include <string>
#include <vector>

namespace plimsoll {

/// The content of a metrics.csv: numbers by column and epoch.
struct MetricsTable {
  std::vector<std::string> names;           ///< Names of the columns.
  std::vector<std::vector<double>> values;  ///< [columns][epochs]; NaN for a missing number.

  /// Returns the values of a column; empty if no column has this name.
  std::vector<double> column(const std::string& name) const;
};

/// Parses the text of a metrics.csv, whose fields have no quotes. A line with too few fields is filled with
/// NaN.
MetricsTable parse_metrics(const std::string& csv);

}  // namespace plimsoll
