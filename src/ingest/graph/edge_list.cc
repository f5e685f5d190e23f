#include "ingest/graph/edge_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "ingest/graph/edge_notes.h"
#include "ingest/graph/edge_parser.h"
#include "io/compression.h"
#include "io/number_array.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kArrayBytes = 1 << 20;  // Bytes of array edges, with their values, that are read at once.

// The whole numbers of an array.
class Numbers {
 public:
  explicit Numbers(const fs::path& path) : array_(path) {
    if (!array_.is_whole() || array_.type() == NumberArray::Type::boolean)
      throw InputError(
          fmt::format("{}: dtype is '{}', expected whole numbers", array_.path(), array_.dtype()));
  }
  const std::vector<int64_t>& shape() const { return array_.shape(); }
  // Returns the ID of a row, which must be a node.
  uint64_t id(int64_t row, int64_t column, int64_t edge, const IdRules& rules) const {
    const int64_t value = array_.whole(row, column);
    const auto refused = [&](const std::string& expected) {
      return InputError(fmt::format("{}: row {}: found {}, expected {}; fix the array", array_.path(), edge,
                                    value, expected));
    };
    if (value < 0) throw refused("a node ID from 0");
    const auto id = static_cast<uint64_t>(value);
    if (id >= rules.limit) throw refused(fmt::format("a node from 0 to {}{}", rules.limit - 1, rules.nodes));
    if (rules.unknown == id) throw refused("a node" + rules.nodes);
    return id;
  }

 private:
  NumberArray array_;
};

// Location of sources and targets in one or two arrays.
struct ArrayPair {
  Numbers first;
  std::optional<Numbers> second;
  int64_t edges = 0;
  bool rows = true;  // Without a `second`: whether an edge is a row of `first`; otherwise it is a column.

  ArrayPair(const std::vector<fs::path>& paths, std::optional<EdgeArrayLayout> layout) : first(paths[0]) {
    const std::vector<int64_t>& shape = first.shape();
    if (paths.size() == 2) {
      second.emplace(paths[1]);
      edges = shape[0];
      if (second->shape() != shape)
        throw InputError(fmt::format("{}: has the shape {}, expected that of {}, {}", paths[1].string(),
                                     Json(second->shape()).dump(), paths[0].string(), Json(shape).dump()));
      return;
    }
    const bool may_be_rows = shape.size() == 2 && shape[1] == 2 && layout != EdgeArrayLayout::columns;
    const bool may_be_columns = shape.size() == 2 && shape[0] == 2 && layout != EdgeArrayLayout::rows;
    if (may_be_rows && may_be_columns)
      throw UsageError(paths[0].string() +
                       ": has the shape [2,2]: say whether an edge is a row (--layout rows) or a column "
                       "(--layout columns)");
    if (!may_be_rows && !may_be_columns)
      throw InputError(fmt::format("{}: has the shape {}, expected {}, or two arrays of [E]",
                                   paths[0].string(), Json(shape).dump(),
                                   layout == EdgeArrayLayout::rows      ? "[E, 2], as --layout says"
                                   : layout == EdgeArrayLayout::columns ? "[2, E], as --layout says"
                                                                        : "[E, 2] or [2, E]"));
    rows = may_be_rows;
    edges = rows ? shape[0] : shape[1];
  }
  uint64_t source(int64_t e, const IdRules& ids) const { return end(e, 0, ids); }
  uint64_t target(int64_t e, const IdRules& ids) const {
    return second ? second->id(e, 0, e, ids) : end(e, 1, ids);
  }

 private:
  uint64_t end(int64_t e, int64_t which, const IdRules& ids) const {
    if (second) return first.id(e, 0, e, ids);
    return rows ? first.id(e, which, e, ids) : first.id(which, e, e, ids);
  }
};

}  // namespace

void EdgeBatch::clear() {
  source.clear();
  target.clear();
  values.clear();
  texts.clear();
  text_ends.clear();
  comments = 0;
}

uint64_t EdgeBatch::ids_end() const {
  uint64_t end = 0;
  for (size_t e = 0; e < size(); ++e) end = std::max({end, source[e] + 1, target[e] + 1});
  return end;
}

EdgeList::EdgeList(EdgeListOptions options) : options_(std::move(options)) {
  bool half = false;
  for (const fs::path& path : options_.files) {
    if (!names_array(path)) {
      open_text(path);
      continue;
    }
    const bool vector = Numbers(path).shape().size() == 1;
    if (half && !vector) throw InputError(path.string() + ": has two axes, expected one, the targets");
    if (!half) arrays_.emplace_back();
    arrays_.back().push_back(path);
    half = vector && !half;
  }
  if (half)
    throw UsageError(arrays_.back()[0].string() + ": has one axis; name the array of targets after it");
  if (!texts_.empty() && !arrays_.empty())
    throw UsageError("--edges: name either texts or .npy arrays, not both");
  name_features();
}

// Returns whether, according to the options or to the previous text, the text has a header.
bool EdgeList::has_header(const EdgeText& text) const {
  const auto named = [](const std::string& name) { return !name.empty() && !is_number(name); };
  const bool expected =
      options_.header.value_or(named(options_.source) || named(options_.target) || named(options_.weight) ||
                               std::any_of(options_.features.begin(), options_.features.end(), named));
  if (!expected || texts_.empty() || !texts_[0].format.header) return expected;
  // A later text has a header with the columns of the first text in any order, or continues the first text
  // without a header.
  const auto sorted = [](std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    return names;
  };
  if (sorted(text.format.columns) == sorted(texts_[0].format.columns)) return true;
  if (text.format.columns.size() != texts_[0].format.columns.size())
    throw InputError(fmt::format("{}: found {} columns, expected the {} of {}; name files of one form",
                                 text.path.string(), text.format.columns.size(),
                                 texts_[0].format.columns.size(), texts_[0].path.string()));
  return false;
}

// Determines whether the first line is a header, unless the options say so.
void EdgeList::detect_header(EdgeText& text, size_t source, size_t target) {
  Delimited& format = text.format;
  const auto have = [&](const std::vector<std::string>& row, const auto& is) {
    return std::max(source, target) < row.size() && is(row[source]) && is(row[target]);
  };
  if (!options_.header && !format.header && !have(format.columns, is_real)) {
    format.header = have(format.second, is_real);
    const bool repeated = !texts_.empty() && texts_[0].format.columns == format.columns;
    if (!format.header && (repeated || have(format.columns, is_id_name)))
      throw UsageError(
          fmt::format("{}: the first line, '{}' and '{}', may be names of columns or an edge{}; "
                      "say which with --header yes or --header no",
                      text.path.string(), format.columns[source], format.columns[target],
                      repeated ? ", and begins another file too" : ""));
  }
  const auto is_whole = [](std::string_view id) { return is_number(id) || whole_real(id); };
  if (!have(format.header ? format.second : format.columns, is_whole) &&
      !(format.header && format.second.empty()))
    numbers_ = false;
}

void EdgeList::open_text(const fs::path& path) {
  EdgeText text{.path = path, .comments = options_.comments, .matrix = read_matrix_market(path)};
  if (text.matrix) text.comments = Comments::leading;
  text.format = Delimited::open(path, text.comments);
  text.format.header = !text.matrix && has_header(text);
  // A text without a header has the columns of the first text, if it has as many. Otherwise columns are given
  // by their numbers, which this text must have.
  const bool goes_on = !text.format.header && !texts_.empty() && texts_[0].format.header && !text.matrix &&
                       texts_[0].format.columns.size() == text.format.columns.size();
  const Delimited& names = goes_on ? texts_[0].format : text.format;
  const size_t source = names.column(options_.source, path);
  const size_t target = names.column(options_.target, path);
  if (text.matrix) {
    text.format.header = true;  // The line of sizes counts as the header.
    text.format.separator = ' ';
  } else {
    detect_header(text, source, target);
  }
  text.role.assign(text.format.columns.size(), -1);
  const auto give = [&](size_t column, int role) {
    if (std::exchange(text.role[column], role) >= 0)
      throw UsageError(
          fmt::format("{}: column {} is named twice among source, target, weight and edge features; name "
                      "each column once",
                      path.string(), column));
  };
  give(source, 0);
  give(target, 1);
  int role = 2;
  if (has_weight()) give(names.column(options_.weight, path), role++);
  for (const std::string& name : options_.features) give(names.column(name, path), role++);
  if (!texts_.empty() && texts_[0].matrix.has_value() != text.matrix.has_value())
    throw UsageError(
        path.string() +
        ": MatrixMarket files and other texts cannot be combined in one list; name files of one kind");
  texts_.push_back(std::move(text));
}

void EdgeList::name_features() {
  const bool array = options_.features.size() == 1 && names_array(options_.features[0]);
  if (!texts_.empty() && (array || names_array(options_.weight)))
    throw UsageError(
        "edges from text have their weights and features in columns of the text, not in .npy files");
  if (arrays_.empty()) {
    for (const std::string& name : options_.features)
      feature_names_.add(is_number(name) ? "feature_" + std::to_string(feature_names_.size()) : name,
                         options_.files[0].string());
    return;
  }
  if ((has_weight() && !names_array(options_.weight)) || (!options_.features.empty() && !array))
    throw UsageError("edges from .npy arrays have their weights and features in .npy files");
  if (options_.features.empty()) return;
  const NumberArray features{fs::path(options_.features[0])};
  if (features.shape().size() != 2) throw InputError(options_.features[0] + ": expected two axes, [E, K]");
  feature_names_.add_numbers(features.columns(), options_.features[0]);
}

std::vector<int64_t> EdgeList::part_sizes() const {
  std::vector<int64_t> sizes;
  for (const EdgeText& text : texts_) {
    if (!fs::is_regular_file(text.path))
      throw InputError(text.path.string() + ": is not a regular file; --shard needs its size");
    sizes.push_back(static_cast<int64_t>(fs::file_size(text.path)));
  }
  for (const auto& paths : arrays_) sizes.push_back(ArrayPair(paths, options_.layout).edges);
  return sizes;
}

void EdgeList::keep(std::pair<size_t, size_t> parts) {
  const auto cut = [&](auto& all) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(parts.second), all.end());
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(parts.first));
  };
  if (!texts_.empty()) return cut(texts_);
  for (size_t i = 0; i < arrays_.size(); ++i)
    if (i < parts.first || i >= parts.second)
      (i < parts.first ? rows_before_ : rows_after_) += ArrayPair(arrays_[i], options_.layout).edges;
  cut(arrays_);
}

std::vector<fs::path> EdgeList::edge_files() const {
  std::vector<fs::path> all;
  for (const EdgeText& text : texts_) all.push_back(text.path);
  for (const auto& paths : arrays_)
    for (const fs::path& path : paths) all.push_back(array_place(path).file);
  return all;
}

// Paths of the arrays with weights and features.
std::vector<fs::path> EdgeList::value_paths() const {
  std::vector<fs::path> all;
  if (names_array(options_.weight)) all.emplace_back(options_.weight);
  if (!options_.features.empty() && names_array(options_.features[0])) all.emplace_back(options_.features[0]);
  return all;
}

std::vector<fs::path> EdgeList::value_files() const {
  std::vector<fs::path> all = value_paths();
  for (fs::path& path : all) path = array_place(path).file;
  return all;
}

int64_t EdgeList::nodes() const {
  int64_t nodes = -1;
  for (const EdgeText& text : texts_)
    if (text.matrix) nodes = std::max(nodes, text.matrix->nodes);
  return nodes;
}

std::string EdgeList::nodes_place() const {
  const auto says = [&](const EdgeText& text) { return text.matrix && text.matrix->nodes == nodes(); };
  return std::ranges::find_if(texts_, says)->path.string();
}

std::vector<std::string> EdgeList::notes(bool ids_are_given) const {
  std::vector<std::string> notes;
  for (const fs::path& path : value_paths()) note_rounding(NumberArray(path), notes);
  for (const EdgeText& text : texts_)
    if (!text.matrix) note_first_line(text, options_, ids_are_given, notes);
  return notes;
}

int64_t EdgeList::headers() const {
  return std::count_if(texts_.begin(), texts_.end(),
                       [](const EdgeText& text) { return text.format.header && !text.matrix; });
}

int64_t EdgeList::max_edges() const {
  constexpr int64_t kShortestLine = 4;  // "1 2" and the line end.
  int64_t max = 0;
  for (const EdgeText& text : texts_) {
    if (compression_of(text.path) != Compression::none) return int64_t{1} << 40;
    const int64_t lines = static_cast<int64_t>(fs::file_size(text.path)) / kShortestLine + 1;
    max += text.matrix && text.matrix->symmetric ? 2 * lines : lines;
  }
  for (const auto& paths : arrays_) max += ArrayPair(paths, options_.layout).edges;
  return max;
}

void EdgeList::read(const IdRules& rules, int threads,
                    const std::function<void(const EdgeBatch&, int64_t)>& take) const {
  if (rules.texts && nodes() >= 0) throw UsageError("--ids text: MatrixMarket files hold numbers");
  if (arrays_.empty()) {
    read_edge_texts(texts_, values(), rules, threads, take);
  } else {
    if (rules.texts) throw UsageError("--ids text: .npy arrays hold numbers");
    read_arrays(rules, take);
  }
}

void EdgeList::read_arrays(const IdRules& rules,
                           const std::function<void(const EdgeBatch&, int64_t)>& take) const {
  const NumberArray weights = has_weight() ? NumberArray(fs::path(options_.weight)) : NumberArray();
  const NumberArray features =
      options_.features.empty() ? NumberArray() : NumberArray(fs::path(options_.features[0]));
  int64_t edges = rows_before_ + rows_after_;
  for (const auto& paths : arrays_) edges += ArrayPair(paths, options_.layout).edges;
  const auto require_rows = [&](const NumberArray& array) {
    if (array.rows() != edges)
      throw InputError(fmt::format("{}: has {} rows, expected {}, one for each edge; make it again",
                                   array.path(), array.rows(), edges));
  };
  if (has_weight()) {
    if (weights.shape().size() > 2 || weights.columns() != 1)
      throw InputError(fmt::format("{}: has the shape {}, expected [E], one weight per edge", options_.weight,
                                   Json(weights.shape()).dump()));
    require_rows(weights);
  }
  if (!options_.features.empty()) require_rows(features);
  const auto add_values = [&](const NumberArray& array, int64_t row, size_t width, EdgeBatch& batch) {
    batch.values.resize(batch.values.size() + width);
    const std::span<float> values(batch.values.data() + batch.values.size() - width, width);
    array.copy_row(row, values);
    for (const float value : values)
      if (!std::isfinite(value))
        throw InputError(fmt::format("{}: row {}: found {}, expected a finite number; fix the array",
                                     array.path(), row, value));
  };
  const int64_t bytes = 2 * sizeof(uint64_t) + static_cast<int64_t>(values() * sizeof(float));
  const int64_t rows = std::max<int64_t>(kArrayBytes / bytes, 1);
  EdgeBatch batch;
  int64_t row = rows_before_;
  for (const auto& paths : arrays_) {
    const ArrayPair pair(paths, options_.layout);
    for (int64_t first = 0; first < pair.edges; first += rows) {
      batch.clear();
      for (int64_t e = first; e < std::min(first + rows, pair.edges); ++e, ++row) {
        batch.source.push_back(pair.source(e, rules));
        batch.target.push_back(pair.target(e, rules));
        if (has_weight()) add_values(weights, row, 1, batch);
        if (!feature_names_.empty()) add_values(features, row, feature_names_.size(), batch);
      }
      take(batch, (row - rows_before_) * 16);
    }
  }
}

}  // namespace plimsoll
