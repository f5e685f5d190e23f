#include "ingest/text/delimited.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "base/error.h"
#include "ingest/text/characters.h"
#include "ingest/text/line_reader.h"
#include "io/input_stream.h"
#include "memory/heap_bytes.h"

namespace plimsoll {
namespace {

std::vector<std::string> fields_of(std::string_view line, char separator, const LineReader& at,
                                   Charge& charge) {
  // Bytes per string in a list that doubles.
  constexpr int64_t kGrowing = 3 * static_cast<int64_t>(sizeof(std::string));
  std::vector<std::string> fields;
  for (std::string_view rest = line; rest.data() != nullptr;) {
    const std::string_view field = at.field(rest, separator);
    charge.add(kGrowing + heap_piece(field.size() + 1));
    fields.emplace_back(field);
    if (separator == ' ' && rest.empty()) break;
  }
  return fields;
}

struct FieldCount {
  size_t fields = 0;
  bool has_blanks = false;  // Whether a field without quotes has a blank inside.
};

// Counts the fields of a line; 0 if it has a bad quote.
FieldCount count_fields(std::string_view line, char separator) {
  FieldCount count;
  try {
    for (std::string_view rest = line; rest.data() != nullptr;) {
      const std::string_view field = cut_field(rest, separator);
      const bool quoted = field.data() > line.data() && field.data()[-1] == '"';
      count.has_blanks |= !quoted && field.find(' ') != std::string_view::npos;
      ++count.fields;
      if (separator == ' ' && rest.empty()) break;
    }
  } catch (const BadQuote&) {
    return {};
  }
  return count;
}

// Returns whether a rare separator divides the first lines better than blanks do. If `a|b c|d` is divided at
// blanks, it becomes two texts with bars in them.
bool divides(char separator, std::string_view first, std::string_view second) {
  const FieldCount found = count_fields(first, separator);
  if (found.fields < 2 || (!second.empty() && found.fields != count_fields(second, separator).fields))
    return false;
  const size_t words = count_fields(first, ' ').fields;
  return words < 2 || !found.has_blanks || (!second.empty() && words != count_fields(second, ' ').fields);
}

char separator_of(std::string_view first, std::string_view second) {
  for (const char common : {'\t', ','})
    if (first.find(common) != std::string_view::npos) return common;
  for (const char rare : {';', '|'})
    if (divides(rare, first, second)) return rare;
  return ' ';
}

}  // namespace

Delimited Delimited::open(const std::filesystem::path& path, Comments comments) {
  LineReader lines(InputStream::open(path), path.string());
  Delimited result;
  std::string_view line;
  if (!lines.next_row(line, comments))
    throw InputError(fmt::format("{}: found only comments, expected a table; fetch it again", path.string()));
  const Charge copied(Tag::ingest, static_cast<int64_t>(line.size()));
  const std::string first(line);
  const bool more = lines.next_row(line, comments == Comments::leading ? Comments::none : comments);
  result.separator = separator_of(first, more ? line : std::string_view());
  if (more) result.second = fields_of(line, result.separator, lines, result.charge);
  // The reader is already past the first line, so a bad quote in that line is reported by a new reader.
  LineReader again(InputStream::open(path), path.string());
  again.next_row(line, comments);
  result.columns = fields_of(line, result.separator, again, result.charge);
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
             : fmt::format(
                   "{}: has no column '{}'; its {} columns have no names; refer to them by numbers from 0",
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
  if (separator != '\t' && at < all.size() && all[at] == '"') {
    size_t close = at + 1;
    while (close < all.size() && (all[close] != '"' || (close + 1 < all.size() && all[close + 1] == '"')))
      close += all[close] == '"' ? 2 : 1;
    if (close >= all.size()) throw BadQuote{all.substr(at)};
    size_t after = close + 1;
    while (after < all.size() && is_blank(all[after])) ++after;
    if (after < all.size() && all[after] != separator) throw BadQuote{all.substr(after)};
    rest = after == all.size() ? std::string_view() : all.substr(after + 1);
    return all.substr(at + 1, close - at - 1);
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
  return !text.empty() && (text.front() == '#' || text.front() == '%');
}

bool is_number(std::string_view field) {
  if (!field.empty() && (field.front() == '-' || field.front() == '+')) field.remove_prefix(1);
  return !field.empty() && std::all_of(field.begin(), field.end(), is_digit);
}

bool is_real(std::string_view field) {
  if (!field.empty() && (field.front() == '-' || field.front() == '+')) field.remove_prefix(1);
  if (field.empty() || !(is_digit(field.front()) || field.front() == '.')) return false;
  double value = 0;
  const auto [end, failed] = std::from_chars(field.data(), field.data() + field.size(), value);
  return failed == std::errc() && end == field.data() + field.size();
}

std::optional<uint64_t> whole_real(std::string_view field) {
  constexpr double kMax = 9007199254740992.0;  // Above 2^53, several whole numbers are the same double.
  if (!is_real(field) || is_number(field) || field.front() == '+') return std::nullopt;
  double value = 0;
  std::from_chars(field.data(), field.data() + field.size(), value);
  if (value < 0 || value > kMax || std::trunc(value) != value) return std::nullopt;
  return static_cast<uint64_t>(value);
}

namespace {

// Returns the letters of a column's name in lower case, or an empty text if the field cannot be a name.
std::string letters_of(std::string_view field) {
  constexpr size_t kLongestName = 24;
  std::string name;
  for (const char c : field) {
    const bool capital = c >= 'A' && c <= 'Z';
    if (capital || (c >= 'a' && c <= 'z'))
      name += capital ? static_cast<char>(c + 32) : c;
    else if (name.size() > kLongestName || (c != '_' && c != ' ' && c != '-' && c != ':'))
      return "";
  }
  return name;
}

// Returns whether a field is one of the known names, alone or combined with "id" or "node".
bool is_name_of(std::initializer_list<std::string_view> known, std::string_view field) {
  const std::string name = letters_of(field);
  return std::any_of(known.begin(), known.end(), [&](std::string_view word) {
    const std::string text(word);
    return name == text || name == text + "id" || name == text + "node" || name == text + "nodeid" ||
           name == "id" + text;
  });
}

}  // namespace

bool is_source_name(std::string_view field) {
  return is_name_of({"src", "source", "from", "tail", "subject", "start", "u"}, field);
}

bool is_target_name(std::string_view field) {
  return is_name_of({"dst", "dest", "destination", "target", "to", "head", "object", "end", "v"}, field);
}

bool is_id_name(std::string_view field) {
  return is_source_name(field) || is_target_name(field) ||
         is_name_of({"id", "ids", "node", "nodes", "name", "vertex", "user", "item"}, field);
}

}  // namespace plimsoll
