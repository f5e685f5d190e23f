#include "store/typed_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace plimsoll {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

InputError damaged_types(const DataSetView& set, const std::string& what) {
  return InputError(fmt::format("{}: {}; the data set is damaged, make it again",
                                (set.folder() / "manifest.json").string(), what));
}

// An object of the manifest and where it is, such as "node_types[0].columns[2]".
struct Place {
  const Json& object;
  std::string path;
};

// Returns the objects of a list. Errors: InputError for anything else.
std::vector<Place> objects_of(const DataSetView& set, const Place& parent, const char* key) {
  const std::string path = parent.path.empty() ? key : fmt::format("{}.{}", parent.path, key);
  if (!parent.object.contains(key) || !parent.object[key].is_array())
    throw damaged_types(set, fmt::format("{} is no list", path));
  std::vector<Place> objects;
  for (const Json& object : parent.object[key]) {
    objects.push_back({object, fmt::format("{}[{}]", path, objects.size())});
    if (!object.is_object()) throw damaged_types(set, fmt::format("{} is no object", objects.back().path));
  }
  return objects;
}

std::string text_of(const DataSetView& set, const Place& place, const char* key) {
  if (!place.object.contains(key) || !place.object[key].is_string())
    throw damaged_types(set, fmt::format("{} has no text \"{}\"", place.path, key));
  return place.object[key];
}

// Returns the times that a type names, an object or null. Errors: InputError for anything else.
std::optional<Place> time_of(const DataSetView& set, const Place& type) {
  const auto time = type.object.find("time");
  if (time == type.object.end() || time->is_null()) return std::nullopt;
  Place place{*time, type.path + ".time"};
  if (!time->is_object()) throw damaged_types(set, place.path + " is no object");
  return place;
}

void require_rows(const DataSetView& set, const std::string& column, int64_t rows) {
  const auto found = set.columns().find(column);
  if (found == set.columns().end()) throw damaged_types(set, fmt::format("lists no column '{}'", column));
  const NpyShape& shape = found->second.shape();
  if (shape.shape.empty() || shape.shape[0] != rows)
    throw damaged_types(set, fmt::format("column '{}' has {} rows, expected {}", column, shape.rows(), rows));
}

// Checks that the columns which a column of a node type names are there, with a row for each node.
void require_column(const DataSetView& set, const Place& column, int64_t nodes) {
  text_of(set, column, "name");
  text_of(set, column, "meaning");
  if (column.object.contains("unit")) text_of(set, column, "unit");
  const std::string values = text_of(set, column, "column");
  if (column.object.contains("ptr")) {
    require_rows(set, text_of(set, column, "ptr"), nodes + 1);
    const auto ptr = set.column<int64_t>(text_of(set, column, "ptr"));
    if (ptr.front() != 0)
      throw damaged_types(set, fmt::format("{} names '{}', whose first list is cut", column.path, values));
    require_rows(set, values, ptr.back());
  } else {
    require_rows(set, values, nodes);
  }
  if (column.object.contains("valid")) require_rows(set, text_of(set, column, "valid"), nodes);
  if (!column.object.contains("vocabulary")) return;
  static_cast<void>(set.column<uint8_t>(text_of(set, column, "vocabulary")));
  static_cast<void>(set.column<int64_t>(text_of(set, column, "vocabulary_ptr")));
}

// Checks the columns of a node type, and the reasons of those that were left out.
void require_columns(const DataSetView& set, const Place& type, int64_t nodes) {
  for (const Place& column : objects_of(set, type, "columns")) require_column(set, column, nodes);
  if (!type.object.contains("left_out")) return;
  for (const Place& column : objects_of(set, type, "left_out")) {
    text_of(set, column, "name");
    text_of(set, column, "reason");
  }
}

}  // namespace

std::string typed_column(std::initializer_list<std::string_view> parts) {
  constexpr size_t kMax = 200;  // File systems allow 255 bytes, with ".again.npy".
  std::string name;
  for (const std::string_view part : parts) {
    if (!name.empty()) name += '.';
    for (const char c : part)
      if (is_plain(c))
        name += c;
      else
        name += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  if (name.size() > kMax)
    throw InputError(fmt::format("the name {} of a column has {} bytes, expected at most {}; rename it",
                                 name.substr(0, 60), name.size(), kMax));
  return name;
}

bool has_node_types(const Json& manifest) {
  return manifest.is_object() && manifest.contains("node_types");
}

TypedGraphView::TypedGraphView(const std::filesystem::path& folder) : set_(folder, "graph") {
  if (!has_node_types(set_.manifest()))
    throw InputError(folder.string() + ": is a graph of one node type, expected one with node types");
  read_node_types();
  read_edge_types();
}

const NodeTypeView& TypedGraphView::node_type(const std::string& name) const {
  const auto found = std::ranges::find(node_types_, name, &NodeTypeView::name);
  if (found == node_types_.end()) throw damaged_types(set_, fmt::format("has no node type '{}'", name));
  return *found;
}

void TypedGraphView::read_node_types() {
  for (const Place& type : objects_of(set_, {set_.manifest(), ""}, "node_types")) {
    NodeTypeView view{.name = text_of(set_, type, "name")};
    const Json nodes = type.object.value("nodes", Json());
    if (!nodes.is_number_integer() || nodes < 0)
      throw damaged_types(set_, fmt::format("{} has no number of nodes", type.path));
    view.nodes = nodes;
    require_columns(set_, type, view.nodes);
    if (const auto time = time_of(set_, type)) {
      require_rows(set_, text_of(set_, *time, "column"), view.nodes);
      view.time = set_.column<int64_t>(text_of(set_, *time, "column"));
    }
    node_types_.push_back(std::move(view));
  }
}

void TypedGraphView::read_edge_types() {
  for (const Place& type : objects_of(set_, {set_.manifest(), ""}, "edge_types")) {
    EdgeTypeView view{.source = text_of(set_, type, "source"),
                      .name = text_of(set_, type, "name"),
                      .target = text_of(set_, type, "target")};
    if (!type.object.value("time", Json()).is_null()) view.time = text_of(set_, type, "time");
    static_cast<void>(node_type(view.source));
    const std::string indptr = text_of(set_, type, "indptr");
    require_rows(set_, indptr, node_type(view.target).nodes + 1);
    view.indptr = set_.column<int64_t>(indptr);
    view.indices = set_.column<uint32_t>(text_of(set_, type, "indices"));
    if (view.indptr.front() != 0 || view.indptr.back() != static_cast<int64_t>(view.indices.size()))
      throw damaged_types(set_, fmt::format("{} has lists that do not end with its last edge", type.path));
    edge_types_.push_back(std::move(view));
  }
}

}  // namespace plimsoll
