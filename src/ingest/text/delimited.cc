#include "ingest/text/delimited.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "ingest/text/characters.h"
#include "io/input_stream.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

constexpr size_t kHeadBytes = 64 << 10;

std::vector<std::string> fields_of(std::string_view line, char separator) {
  std::vector<std::string> fields;
  for (std::string_view rest = line; rest.data() != nullptr;) {
    fields.emplace_back(cut_field(rest, separator));
    if (separator == ' ' && rest.empty()) break;
  }
  return fields;
}

}  // namespace

Delimited Delimited::open(const std::filesystem::path& path) {
  Vector<char, Tag::ingest> head(kHeadBytes);
  const size_t got = InputStream::open(path)->read(head.data(), head.size());
  Delimited result;
  bool first = true;
  for (std::string_view text(head.data(), got); !text.empty();) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_comment(line)) continue;
    if (!first) {
      result.second = fields_of(line, result.separator);
      return result;
    }
    first = false;
    result.separator = line.find('\t') != std::string_view::npos  ? '\t'
                       : line.find(',') != std::string_view::npos ? ','
                                                                  : ' ';
    result.columns = fields_of(line, result.separator);
  }
  if (first)
    throw InputError(
        fmt::format("{}: found no line but comments, expected a table; fetch it again", path.string()));
  return result;
}

size_t Delimited::column(const std::string& name, const std::filesystem::path& path) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (header && found != columns.end()) return static_cast<size_t>(found - columns.begin());
  size_t number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed == std::errc() && end == name.data() + name.size() && number < columns.size()) return number;
  throw UsageError(
      header ? fmt::format("{}: has no column '{}'; its columns are {}", path.string(), name,
                           fmt::join(columns, ", "))
             : fmt::format("{}: has no column '{}'; its {} columns have no names, number them from 0",
                           path.string(), name, columns.size()));
}

std::string_view cut_field(std::string_view& rest, char separator) {
  if (separator == ' ') {
    while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
    return take_word(rest);
  }
  const std::string_view all = rest;
  size_t at = 0;
  while (at < all.size() && is_blank(all[at]) && all[at] != separator) ++at;
  if (separator == ',' && at < all.size() && all[at] == '"') {
    size_t close = at + 1;
    while (close < all.size() && (all[close] != '"' || (close + 1 < all.size() && all[close + 1] == '"')))
      close += all[close] == '"' ? 2 : 1;
    const std::string_view field = all.substr(at + 1, std::min(close, all.size()) - at - 1);
    const size_t comma = all.find(separator, std::min(close, all.size()));
    rest = comma == std::string_view::npos ? std::string_view() : all.substr(comma + 1);
    return field;
  }
  const size_t begin = at;
  while (at < all.size() && all[at] != separator) ++at;
  rest = at == all.size() ? std::string_view() : all.substr(at + 1);
  size_t end = at;
  while (end > begin && is_blank(all[end - 1])) --end;
  return all.substr(begin, end - begin);
}

bool is_comment(std::string_view line) {
  const std::string_view text = trim(line);
  return text.empty() || text.front() == '#' || text.front() == '%';
}

bool is_number(std::string_view field) {
  if (!field.empty() && (field.front() == '-' || field.front() == '+')) field.remove_prefix(1);
  return !field.empty() && std::all_of(field.begin(), field.end(), is_digit);
}

}  // namespace plimsoll
