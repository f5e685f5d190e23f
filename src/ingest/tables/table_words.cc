#include "ingest/tables/table_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "ingest/tables/file_stream.h"
#include "ingest/tables/partition_columns.h"
#include "ingest/tables/table_sources.h"
#include "io/location.h"

namespace plimsoll {

// The words that --table accepts after the files, except foreign keys.
enum class TableWord : uint8_t { key, time, unit };
template <>
inline constexpr auto kWords<TableWord> = std::to_array<std::string_view>({"key", "time", "unit"});

namespace {

constexpr const char* kExpected =
    "expected NAME=FILES or NAME=FILES:WORDS with words such as key=id, time=at, unit=s or user_id->users";

// Splits at commas that are not in parentheses.
std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

// Parses "id" or "(order,line)".
std::vector<std::string> column_list(std::string_view text) {
  if (text.starts_with('(') && text.ends_with(')')) return split_words(text.substr(1, text.size() - 2));
  return {std::string(text)};
}

void add_word(const std::string& word, const std::string& whole, TableSpec& table) {
  const size_t arrow = word.find("->");
  const size_t equals = word.find('=');
  if (arrow != std::string::npos) {
    table.foreign_keys.push_back(
        {column_list(std::string_view(word).substr(0, arrow)), word.substr(arrow + 2)});
    return;
  }
  const std::string name = equals == std::string::npos ? word : word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  const std::optional<TableWord> about = find_word<TableWord>(name);
  if (value.empty() || !about)
    throw UsageError(
        fmt::format("--table {}: '{}' is not understood; {}", without_credentials(whole), word, kExpected));
  switch (*about) {
    case TableWord::key:
      table.key = column_list(value);
      break;
    case TableWord::time:
      table.time = value;
      break;
    case TableWord::unit:
      table.time_unit = value;
      break;
  }
}

// Returns the offset of the last colon if it is followed by words of --table, otherwise npos.
size_t find_words(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return colon;
  const std::string_view rest = std::string_view(text).substr(colon + 1);
  const bool is_about = rest.starts_with("key=") || rest.starts_with("time=") || rest.starts_with("unit=") ||
                        rest.find("->") != std::string_view::npos;
  return is_about ? colon : std::string::npos;
}

}  // namespace

void add_table(const std::string& words, TablesOptions& options) {
  const size_t equals = words.find('=');
  const size_t colon = find_words(words);
  if (equals == std::string::npos || equals == 0 || (colon != std::string::npos && colon < equals))
    throw UsageError(fmt::format("--table {}: {}", without_credentials(words), kExpected));
  TableSpec table{.name = words.substr(0, equals), .open = {}};
  const std::string pattern =
      words.substr(equals + 1, colon == std::string::npos ? std::string::npos : colon - equals - 1);
  if (colon != std::string::npos)
    for (const std::string& word : split_words(std::string_view(words).substr(colon + 1)))
      add_word(word, words, table);
  const TableFiles found = find_table_files(pattern);
  add_sources(found, options);
  table.files = std::ssize(found.files);
  table.partitions = PartitionColumns(found).hash();
  table.open = [found](ArrowArrayStream& stream) { stream = stream_files(found); };
  options.tables.push_back(std::move(table));
}

void make_edge_table(const std::string& name, TablesOptions& options) {
  const auto table = std::ranges::find(options.tables, name, &TableSpec::name);
  if (table == options.tables.end())
    throw UsageError(fmt::format("--as-edge {}: there is no such table", name));
  table->as_edge = true;
}

void add_meaning(const std::string& words, TablesOptions& options) {
  const size_t equals = words.rfind('=');
  const size_t dot = words.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals)
    throw UsageError(fmt::format("--meaning {}: expected TABLE.COLUMN=MEANING", words));
  const auto table = std::ranges::find(options.tables, words.substr(0, dot), &TableSpec::name);
  if (table == options.tables.end())
    throw UsageError(fmt::format("--meaning {}: there is no table '{}'", words, words.substr(0, dot)));
  table->meanings[words.substr(dot + 1, equals - dot - 1)] = words.substr(equals + 1);
}

}  // namespace plimsoll
