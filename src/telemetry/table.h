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
  void add(std::vector<std::string> row);
  std::string text() const;

 private:
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace plimsoll
