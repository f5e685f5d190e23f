#include "ingest/graph/edge_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "ingest/graph/edge_parser.h"
#include "io/file_ending.h"
#include "io/npy.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kArrayRows = 64 << 10;

bool is_array(const fs::path& path) {
  return path.extension() == ".npy";
}

// The whole numbers of an array of any integer dtype.
class Numbers {
 public:
  explicit Numbers(const fs::path& path) : view_(path), path_(path.string()) {
    const std::string& dtype = view_.shape().dtype;
    if (!npy_is_whole(dtype))
      throw InputError(fmt::format("{}: dtype is '{}', expected whole numbers", path_, dtype));
  }
  const std::vector<int64_t>& shape() const { return view_.shape().shape; }
  int64_t at(int64_t element) const {
    const auto i = static_cast<size_t>(element);
    const std::string& dtype = view_.shape().dtype;
    if (dtype == "<i8") return view_.values<int64_t>()[i];
    if (dtype == "<i4") return view_.values<int32_t>()[i];
    if (dtype == "<u4") return view_.values<uint32_t>()[i];
    return view_.values<uint8_t>()[i];
  }
  // Returns the ID of a row, which must be a node.
  uint64_t id(int64_t element, int64_t row, const IdRules& rules) const {
    const int64_t value = at(element);
    const auto refused = [&](const std::string& expected) {
      return InputError(
          fmt::format("{}: row {}: found {}, expected {}; mend the array", path_, row, value, expected));
    };
    if (value < 0) throw refused("a node ID from 0");
    const auto id = static_cast<uint64_t>(value);
    if (id >= rules.limit) throw refused(fmt::format("a node from 0 to {}{}", rules.limit - 1, rules.nodes));
    if (rules.unknown == id) throw refused("a node" + rules.nodes);
    return id;
  }

 private:
  NpyView view_;
  std::string path_;
};

// Location of sources and targets in one or two arrays.
struct ArrayPair {
  Numbers first;
  std::optional<Numbers> second;
  int64_t edges = 0;
  int64_t step = 1;          // Distance between edges in `first`.
  int64_t target_begin = 0;  // Index of the first target in `first`, if there is no `second`.

  explicit ArrayPair(const std::vector<fs::path>& paths) : first(paths[0]) {
    const std::vector<int64_t>& shape = first.shape();
    if (paths.size() == 2) {
      second.emplace(paths[1]);
      edges = shape[0];
      if (second->shape() != shape)
        throw InputError(fmt::format("{}: has the shape {}, expected that of {}, {}", paths[1].string(),
                                     Json(second->shape()).dump(), paths[0].string(), Json(shape).dump()));
      return;
    }
    // [E, 2] takes precedence: [2, 2] is two edges, a row each.
    const bool rows = shape.size() == 2 && shape[1] == 2;
    if (!rows && !(shape.size() == 2 && shape[0] == 2))
      throw InputError(fmt::format("{}: has the shape {}, expected [E, 2] or [2, E], or two arrays of [E]",
                                   paths[0].string(), Json(shape).dump()));
    edges = rows ? shape[0] : shape[1];
    step = rows ? 2 : 1;
    target_begin = rows ? 1 : edges;
  }
  uint64_t source(int64_t e, const IdRules& rules) const { return first.id(e * step, e, rules); }
  uint64_t target(int64_t e, const IdRules& rules) const {
    return second ? second->id(e, e, rules) : first.id(target_begin + e * step, e, rules);
  }
};

}  // namespace

void EdgeBatch::clear() {
  source.clear();
  target.clear();
  values.clear();
  texts.clear();
  text_ends.clear();
}

uint64_t EdgeBatch::ids_end() const {
  uint64_t end = 0;
  for (size_t e = 0; e < size(); ++e) end = std::max({end, source[e] + 1, target[e] + 1});
  return end;
}

EdgeList::EdgeList(EdgeListOptions options) : options_(std::move(options)) {
  bool half = false;
  for (const fs::path& path : options_.files) {
    if (!is_array(path)) {
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

void EdgeList::open_text(const fs::path& path) {
  EdgeText text{path, Delimited::open(path), {}};
  const auto named = [](const std::string& name) { return !name.empty() && !is_number(name); };
  text.format.header = options_.header || named(options_.source) || named(options_.target) ||
                       named(options_.weight) ||
                       std::any_of(options_.features.begin(), options_.features.end(), named);
  const size_t source = text.format.column(options_.source, path);
  const size_t target = text.format.column(options_.target, path);
  const auto are_numbers = [&](const std::vector<std::string>& row) {
    return std::max(source, target) < row.size() && is_number(row[source]) && is_number(row[target]);
  };
  if (!are_numbers(text.format.columns) && are_numbers(text.format.second)) text.format.header = true;
  if (!are_numbers(text.format.header ? text.format.second : text.format.columns) &&
      !(text.format.header && text.format.second.empty()))
    numbers_ = false;
  text.role.assign(text.format.columns.size(), -1);
  const auto give = [&](size_t column, int role) {
    if (std::exchange(text.role[column], role) >= 0)
      throw UsageError(
          fmt::format("{}: column {} is named twice of source, target, weight and edge features; "
                      "name each column once",
                      path.string(), column));
  };
  give(source, 0);
  give(target, 1);
  int role = 2;
  if (has_weight()) give(text.format.column(options_.weight, path), role++);
  for (const std::string& name : options_.features) give(text.format.column(name, path), role++);
  texts_.push_back(std::move(text));
}

void EdgeList::name_features() {
  const bool array = options_.features.size() == 1 && is_array(options_.features[0]);
  if (!texts_.empty() && (array || is_array(options_.weight)))
    throw UsageError("edges from text have their weights and features in columns of it, not in .npy files");
  if (arrays_.empty()) {
    for (const std::string& name : options_.features)
      feature_names_.add(is_number(name) ? "feature_" + std::to_string(feature_names_.size()) : name,
                         options_.files[0].string());
    return;
  }
  if ((has_weight() && !is_array(options_.weight)) || (!options_.features.empty() && !array))
    throw UsageError("edges from .npy arrays have their weights and features in .npy files");
  if (options_.features.empty()) return;
  const NpyView view{fs::path(options_.features[0])};
  if (view.shape().shape.size() != 2) throw InputError(options_.features[0] + ": expected two axes, [E, K]");
  feature_names_.add_numbers(view.shape().shape[1], options_.features[0]);
}

std::vector<int64_t> EdgeList::part_sizes() const {
  std::vector<int64_t> sizes;
  for (const EdgeText& text : texts_) {
    if (!fs::is_regular_file(text.path))
      throw InputError(text.path.string() + ": is no file, whose size --shard has to know");
    sizes.push_back(static_cast<int64_t>(fs::file_size(text.path)));
  }
  for (const auto& paths : arrays_) sizes.push_back(ArrayPair(paths).edges);
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
      (i < parts.first ? rows_before_ : rows_after_) += ArrayPair(arrays_[i]).edges;
  cut(arrays_);
}

std::vector<fs::path> EdgeList::edge_files() const {
  std::vector<fs::path> all;
  for (const EdgeText& text : texts_) all.push_back(text.path);
  for (const auto& paths : arrays_) all.insert(all.end(), paths.begin(), paths.end());
  return all;
}

std::vector<fs::path> EdgeList::value_files() const {
  std::vector<fs::path> all;
  if (is_array(options_.weight)) all.emplace_back(options_.weight);
  if (!options_.features.empty() && is_array(options_.features[0])) all.emplace_back(options_.features[0]);
  return all;
}

int64_t EdgeList::max_edges() const {
  constexpr int64_t kShortestLine = 4;  // "1 2" and the line end.
  int64_t max = 0;
  for (const EdgeText& text : texts_) {
    if (is_compressed_name(text.path)) return int64_t{1} << 40;
    max += static_cast<int64_t>(fs::file_size(text.path)) / kShortestLine + 1;
  }
  for (const auto& paths : arrays_) max += ArrayPair(paths).edges;
  return max;
}

void EdgeList::read(const IdRules& rules, int threads,
                    const std::function<void(const EdgeBatch&, int64_t)>& take) const {
  if (arrays_.empty()) {
    read_edge_texts(texts_, values(), rules, threads, take);
  } else {
    if (rules.texts) throw UsageError("--ids text: .npy arrays hold numbers");
    read_arrays(rules, take);
  }
}

void EdgeList::read_arrays(const IdRules& rules,
                           const std::function<void(const EdgeBatch&, int64_t)>& take) const {
  const NpyView weights = has_weight() ? NpyView(fs::path(options_.weight)) : NpyView();
  const NpyView features = options_.features.empty() ? NpyView() : NpyView(fs::path(options_.features[0]));
  int64_t edges = rows_before_ + rows_after_;
  for (const auto& paths : arrays_) edges += ArrayPair(paths).edges;
  const auto require_rows = [&](const NpyView& view, const std::string& path) {
    if (view.shape().rows() != edges)
      throw InputError(fmt::format("{}: has {} rows, expected {}, one for each edge; make it again", path,
                                   view.shape().rows(), edges));
  };
  if (has_weight()) {
    const std::vector<int64_t>& shape = weights.shape().shape;
    if (shape.size() > 2 || (shape.size() == 2 && shape[1] != 1))
      throw InputError(fmt::format("{}: has the shape {}, expected [E], a weight for each edge",
                                   options_.weight, Json(shape).dump()));
    require_rows(weights, options_.weight);
  }
  if (!options_.features.empty()) require_rows(features, options_.features[0]);
  const auto add_values = [&](const NpyView& view, const std::string& path, int64_t row, size_t width,
                              EdgeBatch& batch) {
    const auto values = view.values<float>().subspan(static_cast<size_t>(row) * width, width);
    for (const float value : values)
      if (!std::isfinite(value))
        throw InputError(
            fmt::format("{}: row {}: found {}, expected a finite number; mend the array", path, row, value));
    batch.values.insert(batch.values.end(), values.begin(), values.end());
  };
  EdgeBatch batch;
  int64_t row = rows_before_;
  for (const auto& paths : arrays_) {
    const ArrayPair pair(paths);
    for (int64_t first = 0; first < pair.edges; first += kArrayRows) {
      batch.clear();
      for (int64_t e = first; e < std::min(first + kArrayRows, pair.edges); ++e, ++row) {
        batch.source.push_back(pair.source(e, rules));
        batch.target.push_back(pair.target(e, rules));
        if (has_weight()) add_values(weights, options_.weight, row, 1, batch);
        if (!feature_names_.empty())
          add_values(features, options_.features[0], row, feature_names_.size(), batch);
      }
      take(batch, (row - rows_before_) * 16);
    }
  }
}

}  // namespace plimsoll
