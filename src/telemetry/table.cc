#include "telemetry/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

// Returns the number of UTF-8 characters: bytes that do not continue one.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<std::string> headings) {
  for (std::string& heading : headings) {
    left_.push_back(heading.starts_with('<'));
    if (left_.back()) heading.erase(0, 1);
  }
  rows_.push_back(std::move(headings));
}

void Table::add(std::vector<std::string> row) {
  row.resize(left_.size());
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<size_t> widths(left_.size());
  for (const auto& row : rows_)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string text;
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < widths.size(); ++c) {
      const std::string gap = c == 0 ? "" : "  ";
      line += gap + (left_[c] ? fmt::format("{:<{}}", rows_[r][c], widths[c])
                              : fmt::format("{:>{}}", rows_[r][c], widths[c]));
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    if (r > 0) continue;
    for (size_t c = 0; c < widths.size(); ++c)
      text += std::string(c == 0 ? 0 : 2, ' ') + std::string(widths[c], '-');
    text += "\n";
  }
  return text;
}

}  // namespace plimsoll
