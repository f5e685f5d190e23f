#pragma once

#include <string>
#include <vector>

namespace plimsoll {

/// A table of text for people: columns as wide as their cells, numbers to the right. Cells are UTF-8 without
/// tabs.
class Table {
 public:
  /// A column whose heading begins with '<' is set to the left; the '<' is not shown.
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> row);
  std::string text() const;

 private:
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace plimsoll
