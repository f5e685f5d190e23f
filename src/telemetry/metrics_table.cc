#include "telemetry/metrics_table.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

namespace plimsoll {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
  return fields;
}

double number_of(const std::string& text) {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

MetricsTable parse_metrics(const std::string& csv) {
  MetricsTable table;
  std::istringstream text(csv);
  std::string line;
  std::getline(text, line);
  table.names = fields_of(line);
  table.values.resize(table.names.size());
  while (std::getline(text, line)) {
    std::vector<std::string> fields = fields_of(line);
    fields.resize(table.names.size());
    for (size_t c = 0; c < fields.size(); ++c) table.values[c].push_back(number_of(fields[c]));
  }
  return table;
}

std::vector<double> MetricsTable::column(const std::string& name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? std::vector<double>() : values[static_cast<size_t>(found - names.begin())];
}

}  // namespace plimsoll
