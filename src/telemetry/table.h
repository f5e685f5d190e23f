#pragma once

#include <string>
#include <vector>

namespace plimsoll {

/// A text table for people: columns as wide as their cells, numbers aligned to the right. Cells are UTF-8
/// without tabs.
class Table {
 public:
  /// A column whose heading begins with '<' is aligned to the left. The '<' is not shown.
  explicit Table(std::vector<std::string> headings);
  /// Adds a row. Missing cells are empty; cells beyond the last column are dropped.
  void add(std::vector<std::string> row);
  /// Returns the table as lines, with a line below the headings.
  std::string text() const;

 private:
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace plimsoll
