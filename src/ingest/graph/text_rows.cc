#include "ingest/graph/text_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plimsoll {

bool begins_as_text(const std::filesystem::path& path) {
  std::array<char, 4096> first{};
  const size_t got = InputStream::open(path)->read(first.data(), first.size());
  return std::none_of(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(got),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' && (c < '\t' || c > '\r'); });
}

TextRows::TextRows(const std::filesystem::path& path)
    : format_(Delimited::open(path)), lines_(InputStream::open(path), path.string()) {}

bool TextRows::next() {
  std::string_view line;
  if (lines_.line() == 0 ? !lines_.next_row(line) : !lines_.next(line)) return false;
  fields_.clear();
  for (std::string_view rest = line; rest.data() != nullptr;) {
    if (format_.separator == ' ' && rest.empty()) break;
    fields_.push_back(lines_.field(rest, format_.separator));
  }
  if (fields_.size() != columns())
    lines_.refuse(line, fmt::format("{} fields, as in the first row; found {}", columns(), fields_.size()));
  return true;
}

}  // namespace plimsoll
