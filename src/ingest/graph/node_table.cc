#include "ingest/graph/node_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"
#include "ingest/text/characters.h"
#include "io/file_ending.h"
#include "io/input_stream.h"
#include "memory/heap_bytes.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxClasses = 65536;
constexpr std::array<std::pair<std::string_view, int>, 7> kSplitWords = {
    {{"train", 0}, {"valid", 1}, {"val", 1}, {"validation", 1}, {"test", 2}, {"none", -1}, {"", -1}}};

constexpr std::array<std::string_view, 9> kMissingWords = {"",    "NA",   "N/A",  "NaN", "nan",
                                                           "NAN", "null", "NULL", "None"};

// Calls next(word) for each word of a field.
template <typename Next>
void for_each_word(std::string_view field, const Next& next) {
  for (std::string_view rest = trim(field); !rest.empty();) next(take_word(rest));
}

// Returns whether a feature is a usual word for a missing value.
bool is_missing(std::string_view word) {
  const auto* const end = kMissingWords.end();
  return std::find(kMissingWords.begin(), end, word) != end;
}

int64_t whole_of(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

NodeTable::NodeTable(NodeTableOptions options) : options_(std::move(options)) {
  if (has_ids()) {
    open_table();
  } else if (!options_.id.empty() || !options_.label.empty() || !options_.split.empty() ||
             !options_.features.empty()) {
    throw UsageError("columns of nodes were named, but no table of nodes; give --nodes");
  }
  open_arrays();
}

std::vector<std::filesystem::path> NodeTable::files() const {
  std::vector<std::filesystem::path> all;
  for (const auto& path :
       {options_.table, options_.feature_array, options_.label_array, options_.target_array})
    if (!path.empty()) all.push_back(array_place(path).file);
  return all;
}

std::string NodeTable::array_path() const {
  for (const auto& path : {options_.feature_array, options_.label_array})
    if (!path.empty()) return path.string();
  return options_.target_array.string();
}

std::vector<std::string> NodeTable::notes() const {
  std::vector<std::string> notes;
  if (!options_.feature_array.empty() && !text_features_) note_rounding(features_, notes);
  if (!options_.target_array.empty()) note_rounding(targets_, notes);
  return notes;
}

void NodeTable::open_table() {
  const std::filesystem::path& path = options_.table;
  format_ = Delimited::open(path);
  format_.header = true;
  if (const bool numbered = options_.id.empty() || is_number(options_.id); numbered || options_.header)
    format_.header = has_header(options_.id.empty() ? 0 : format_.column(options_.id, path));
  columns_.id = options_.id.empty() ? 0 : format_.column(options_.id, path);
  columns_.needed = columns_.id + 1;
  const auto column = [&](const std::string& name) {
    const size_t at = format_.column(name, path);
    columns_.needed = std::max(columns_.needed, at + 1);
    return at;
  };
  if (!options_.label.empty()) columns_.label = column(options_.label);
  if (!options_.split.empty()) columns_.split = column(options_.split);
  for (const std::string& name : options_.features) {
    const size_t at = column(name);
    columns_.features.push_back(at);
    size_t numbers = 0;
    const std::vector<std::string>& first_row = format_.header ? format_.second : format_.columns;
    if (at < first_row.size()) {
      for_each_word(first_row[at], [&](std::string_view) { ++numbers; });
      numbers = std::max<size_t>(numbers, 1);  // An empty field is one missing feature.
    }
    columns_.widths.push_back(numbers);
    const std::string label = format_.header ? format_.columns[at] : fmt::format("column_{}", at);
    for (size_t i = 0; i < numbers; ++i)
      names_.add(numbers == 1 ? label : fmt::format("{}_{}", label, i), path.string());
  }
}

// Returns whether the first line names the columns. `id` is the column of the IDs.
bool NodeTable::has_header(size_t id) const {
  if (options_.header) return *options_.header;
  const auto named = [](const std::string& name) { return !name.empty() && !is_number(name); };
  if (named(options_.id) || named(options_.label) || named(options_.split) ||
      std::any_of(options_.features.begin(), options_.features.end(), named))
    return true;
  const std::vector<std::string>& first = format_.columns;
  const auto ask = [&] {
    return UsageError(
        fmt::format("{}: the first line, '{}', may be a row or names of columns; say which with "
                    "--nodes-header yes or --nodes-header no",
                    options_.table.string(), fmt::join(first, "', '")));
  };
  // Whether the fields are 0, 1, 2, ..., which pandas writes for columns without names.
  bool counts = first.size() > 1;
  for (size_t i = 0; i < first.size(); ++i) counts &= first[i] == std::to_string(i);
  if (counts) throw ask();
  if (is_number(first[id])) return false;
  const bool numbers_follow = id < format_.second.size() && is_number(format_.second[id]);
  if (!numbers_follow && !first[id].empty() && !is_id_name(first[id])) throw ask();
  return true;
}

// Refuses options that would change linked features.
void NodeTable::require_linkable() const {
  if (has_ids() || !options_.features.empty() || lower_ending(options_.feature_array) != ".npy" ||
      !options_.feature_layout.dtype.empty() || options_.missing)
    throw UsageError(
        "--link: expected --features FILE.npy, and neither --nodes, --dtype nor --missing, which need a "
        "copy; "
        "leave --link out");
}

void NodeTable::open_arrays() {
  if (options_.link) require_linkable();
  if (!options_.feature_array.empty()) open_features();
  if (!options_.label_array.empty()) open_labels();
  if (!options_.target_array.empty()) open_targets();
}

void NodeTable::require_rows(int64_t rows, const std::filesystem::path& path) {
  if (rows_ >= 0 && rows != rows_)
    throw InputError(fmt::format("{}: has {} rows, expected {}, one for each node; make it again",
                                 path.string(), rows, rows_));
  rows_ = rows;
}

void NodeTable::open_features() {
  const std::filesystem::path& path = options_.feature_array;
  if (!options_.features.empty())
    throw UsageError("give node features as columns of the table or as an array, not both");
  text_features_ = !names_array(path) && options_.feature_layout.dtype.empty();
  if (text_features_) {
    if (!begins_as_text(path))
      throw UsageError(
          path.string() +
          ": holds bytes that are no text; for numbers without a header, give --dtype and --shape");
    names_.add_numbers(static_cast<int64_t>(TextRows(path).columns()), path.string());
    return;
  }
  features_ = NumberArray(path, options_.feature_layout);
  if (features_.shape().size() != 2 || features_.columns() == 0)
    throw InputError(path.string() + ": expected two axes, [V, F]");
  require_rows(features_.rows(), path);
  names_.add_numbers(features_.columns(), path.string());
}

void NodeTable::open_labels() {
  const std::filesystem::path& path = options_.label_array;
  if (!options_.label.empty())
    throw UsageError("give labels as a column of the table or as an array, not both");
  text_labels_ = !names_array(path);
  if (text_labels_) {
    if (const size_t columns = TextRows(path).columns(); columns != 1)
      throw InputError(fmt::format("{}: has {} fields per line, expected one, a label for each node",
                                   path.string(), columns));
    return;
  }
  labels_ = NumberArray(path);
  if (labels_.shape().empty() || labels_.shape().size() > 2 || labels_.columns() != 1)
    throw InputError(fmt::format("{}: has the shape {}, expected [V] or [V, 1], a label for each node",
                                 path.string(), fmt::join(labels_.shape(), " x ")));
  require_rows(labels_.rows(), path);
}

void NodeTable::open_targets() {
  const std::filesystem::path& path = options_.target_array;
  if (!names_array(path))
    throw UsageError(
        fmt::format("--targets {}: expected a .npy or .npz file; save the numbers as one", path.string()));
  targets_ = NumberArray(path);
  if (targets_.shape().empty() || targets_.shape().size() > 2 || targets_.columns() == 0)
    throw InputError(fmt::format("{}: has the shape {}, expected [V] or [V, T], the numbers of each node",
                                 path.string(), fmt::join(targets_.shape(), " x ")));
  require_rows(targets_.rows(), path);
}

bool NodeTable::is_unlabelled(std::string_view label) const {
  return label.empty() || label == "-1" || label == options_.unlabelled;
}

void NodeTable::cut(std::string_view line, const LineReader& at,
                    std::vector<std::string_view>& fields) const {
  fields.clear();
  for (std::string_view rest = line; fields.size() < columns_.needed;) {
    if (rest.data() == nullptr || (format_.separator == ' ' && rest.empty()))
      at.refuse(line.substr(line.size()),
                fmt::format("{} fields, there are {}", columns_.needed, fields.size()));
    fields.push_back(at.field(rest, format_.separator));
  }
}

void NodeTable::scan(const std::function<void(std::string_view, const LineReader&)>& take) {
  if (has_ids()) {
    LineReader lines(InputStream::open(options_.table), options_.table.string());
    std::string_view line;
    std::vector<std::string_view> fields;
    int64_t rows = 0;
    for (; next_row(lines, line); ++rows) {
      if (rows == 0) first_line_ = lines.line();
      cut(line, lines, fields);
      take(fields[columns_.id], lines);
      if (!columns_.label || is_unlabelled(fields[*columns_.label])) continue;
      const std::string_view label = fields[*columns_.label];
      if (labels_seen_.find(label) == labels_seen_.end()) {
        if (!is_utf8(label)) lines.refuse(label, "a label in UTF-8");
        add_label(std::string(label));
      }
      if (labels_seen_.size() > kMaxClasses)
        lines.refuse(label, fmt::format("one of at most {} classes", kMaxClasses));
    }
    if (rows_ >= 0 && rows != rows_)
      throw InputError(fmt::format("{}: has {} rows, expected {}, as many as {} has nodes; make it again",
                                   array_path(), rows_, rows, options_.table.string()));
    rows_ = rows;
    number_classes();
  }
  scan_text_arrays();
  if (!options_.label_array.empty() && !text_labels_) scan_labels();
}

// Counts the rows of texts, and the classes of a text of labels.
void NodeTable::scan_text_arrays() {
  for (const bool labels : {false, true}) {
    if (!(labels ? text_labels_ : text_features_)) continue;
    const std::filesystem::path& path = labels ? options_.label_array : options_.feature_array;
    TextRows text(path);
    int64_t rows = 0;
    for (; text.next(); ++rows)
      if (labels) classes_ = std::max(classes_, text_label(text) + 1);
    require_rows(rows, path);
  }
}

// Counts the classes of an array of labels.
void NodeTable::scan_labels() {
  for (int64_t r = 0; r < rows_; ++r) {
    const int64_t label = label_at(r);
    if (label < -1 || label >= int64_t{1} << 32)
      throw InputError(fmt::format("{}: row {}: found {}, expected a class from 0, or -1 for none",
                                   options_.label_array.string(), r, label));
    classes_ = std::max(classes_, label + 1);
  }
}

// Reads the next row of the text, without the header.
bool NodeTable::next_row(LineReader& lines, std::string_view& line) const {
  if (lines.line() > 0) return lines.next(line);
  if (!lines.next_row(line)) return false;
  return !format_.header || lines.next(line);
}

void NodeTable::add_label(std::string label) {
  constexpr size_t kNode = 4 * sizeof(void*);  // Bytes of a map node in addition to its pair.
  // Two copies in the list of names while it grows, and those of the tables and of the manifest.
  constexpr int64_t kCopies = 5;
  charge_.add(heap_piece(kNode + sizeof(std::pair<const std::string, int64_t>)) +
              kCopies * (static_cast<int64_t>(sizeof(std::string)) + heap_bytes(label)));
  labels_seen_.emplace(std::move(label), 0);
}

// If labels are numbers, these are the classes; otherwise numbers the classes in the byte order of their
// labels.
void NodeTable::number_classes() {
  std::vector<std::string> labels;
  for (const auto& [label, unused] : labels_seen_) labels.push_back(label);
  const bool numbers = std::all_of(labels.begin(), labels.end(), [](const std::string& label) {
    return label.size() < 19 && is_number(label);
  });
  if (numbers)
    std::stable_sort(labels.begin(), labels.end(),
                     [](const std::string& a, const std::string& b) { return whole_of(a) < whole_of(b); });
  bool plain = true;
  for (size_t i = 0; i < labels.size(); ++i) {
    labels_seen_[labels[i]] = static_cast<int64_t>(i);
    plain &= labels[i] == std::to_string(i);
  }
  classes_ = static_cast<int64_t>(labels.size());
  if (!plain) class_names_ = std::move(labels);
}

void NodeTable::read(const std::function<void(const Row&)>& take) const {
  std::optional<LineReader> lines;
  if (has_ids()) lines.emplace(InputStream::open(options_.table), options_.table.string());
  std::optional<TextRows> features, labels;
  if (text_features_) features.emplace(options_.feature_array);
  if (text_labels_) labels.emplace(options_.label_array);
  std::vector<std::string_view> fields;
  Row row;
  for (int64_t r = 0; r < rows_; ++r) {
    row.x.clear();
    row.y = -1;
    row.split = -1;
    if (lines) read_text_row(*lines, fields, row);
    read_array_row(r, row);
    if (features) read_text_features(*features, row);
    if (labels && labels->next()) row.y = text_label(*labels);
    take(row);
  }
}

void NodeTable::read_text_row(LineReader& lines, std::vector<std::string_view>& fields, Row& row) const {
  std::string_view line;
  if (!next_row(lines, line)) lines.refuse_end("as many rows as when it was read before");
  cut(line, lines, fields);
  read_features(lines, fields, row);
  if (columns_.label && !is_unlabelled(fields[*columns_.label])) {
    const auto found = labels_seen_.find(fields[*columns_.label]);
    if (found == labels_seen_.end())
      lines.refuse(fields[*columns_.label], "a label as when it was read before");
    row.y = found->second;
  }
  if (!columns_.split) return;
  const std::string_view word = fields[*columns_.split];
  const auto* const found = std::find_if(kSplitWords.begin(), kSplitWords.end(),
                                         [&](const auto& known) { return known.first == word; });
  if (found == kSplitWords.end()) lines.refuse(word, "train, valid (or val), test, or none");
  row.split = found->second;
}

// Returns a feature, or the value that stands for a missing one.
float NodeTable::feature(std::string_view word, const LineReader& at) const {
  if (!is_missing(word)) return at.real(word, "a feature of the node");
  if (!options_.missing)
    at.refuse(word,
              "a feature of the node, a finite number of single precision; --missing NUMBER is the value of "
              "features that are empty, NA or NaN");
  return *options_.missing;
}

void NodeTable::read_text_features(TextRows& rows, Row& row) const {
  if (!rows.next()) rows.at().refuse_end("as many rows as when it was read before");
  for (size_t column = 0; column < names_.size(); ++column)
    row.x.push_back(feature(rows.field(column), rows.at()));
}

// Returns the label of a row of a text; -1 for no label.
int64_t NodeTable::text_label(const TextRows& rows) const {
  const std::string_view label = rows.field(0);
  if (is_missing(label) || is_unlabelled(label)) return -1;
  return rows.at().whole(label, 0, (int64_t{1} << 32) - 1, "a class");
}

void NodeTable::read_features(const LineReader& lines, const std::vector<std::string_view>& fields,
                              Row& row) const {
  for (size_t i = 0; i < columns_.features.size(); ++i) {
    const std::string_view field = fields[columns_.features[i]];
    const size_t before = row.x.size();
    for_each_word(field, [&](std::string_view word) {
      if (row.x.size() == names_.size())
        lines.refuse(word, fmt::format("{} features of the node, as in the first row", names_.size()));
      row.x.push_back(feature(word, lines));
    });
    const size_t width = columns_.widths[i];
    if (row.x.size() == before && width > 0) row.x.resize(before + width, feature(field, lines));
    if (row.x.size() != before + width)
      lines.refuse(field, fmt::format("{} features of the node in this column, as in the first row; found {}",
                                      width, row.x.size() - before));
  }
}

void NodeTable::read_array_row(int64_t r, Row& row) const {
  if (!options_.feature_array.empty() && !text_features_ && !options_.link) {
    row.x.resize(names_.size());
    features_.copy_row(r, row.x);
    if (options_.missing)
      std::replace_if(
          row.x.begin(), row.x.end(), [](float value) { return std::isnan(value); }, *options_.missing);
    const auto odd =
        std::find_if(row.x.begin(), row.x.end(), [](float value) { return !std::isfinite(value); });
    if (odd != row.x.end())
      throw InputError(fmt::format(
          "{}: row {}, column {}: found {}, expected a finite number of single precision; fix the "
          "array{}",
          options_.feature_array.string(), r, odd - row.x.begin(), *odd,
          std::isnan(*odd) ? ", or give --missing NUMBER" : ""));
  }
  if (!options_.label_array.empty() && !text_labels_) row.y = label_at(r);
  if (!options_.target_array.empty()) read_targets(r, row);
}

void NodeTable::read_targets(int64_t r, Row& row) const {
  row.targets.resize(target_width());
  targets_.copy_row(r, row.targets);
  const auto infinite =
      std::find_if(row.targets.begin(), row.targets.end(), [](float value) { return std::isinf(value); });
  if (infinite != row.targets.end())
    throw InputError(fmt::format(
        "{}: row {}, column {}: found {}, expected a number of single precision, or NaN if it is unknown; "
        "mend the array",
        options_.target_array.string(), r, infinite - row.targets.begin(), *infinite));
}

// Returns the label of a row of the array, -1 for NaN.
int64_t NodeTable::label_at(int64_t r) const {
  if (labels_.is_whole()) return labels_.whole(r);
  const double label = labels_.real(r);
  if (std::isnan(label)) return -1;
  if (label != std::floor(label) || std::abs(label) > static_cast<double>(int64_t{1} << 32))
    throw InputError(fmt::format("{}: row {}: found {}, expected a class from 0, or -1 or NaN for none",
                                 options_.label_array.string(), r, label));
  return static_cast<int64_t>(label);
}

}  // namespace plimsoll
