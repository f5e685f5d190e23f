#include "store/typed_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

InputError damaged_types(const DataSetView& set, const std::string& what) {
  return InputError(fmt::format("{}: its manifest {}; the data set is damaged, make it again",
                                set.folder().string(), what));
}

// Returns a text of an object of the manifest.
std::string text_of(const DataSetView& set, const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_string())
    throw damaged_types(set, fmt::format("has a type without the text \"{}\"", key));
  return object[key];
}

void require_rows(const DataSetView& set, const std::string& column, int64_t rows) {
  const auto found = set.columns().find(column);
  if (found == set.columns().end()) throw damaged_types(set, fmt::format("lists no column '{}'", column));
  const NpyShape& shape = found->second.shape();
  if (shape.shape.empty() || shape.shape[0] != rows)
    throw damaged_types(set, fmt::format("has {} rows of '{}', expected {}", shape.rows(), column, rows));
}

// Checks that the columns named by a column of a node type exist, with one row per node.
void require_column(const DataSetView& set, const Json& column, int64_t nodes) {
  text_of(set, column, "name");
  text_of(set, column, "meaning");
  const std::string values = text_of(set, column, "column");
  if (column.contains("ptr")) {
    require_rows(set, text_of(set, column, "ptr"), nodes + 1);
    const auto ptr = set.column<int64_t>(text_of(set, column, "ptr"));
    if (ptr.front() != 0)
      throw damaged_types(set, fmt::format("names '{}', whose first list is truncated", values));
    require_rows(set, values, ptr.back());
  } else {
    require_rows(set, values, nodes);
  }
  if (column.contains("valid")) require_rows(set, text_of(set, column, "valid"), nodes);
  if (!column.contains("vocabulary")) return;
  static_cast<void>(set.column<uint8_t>(text_of(set, column, "vocabulary")));
  static_cast<void>(set.column<int64_t>(text_of(set, column, "vocabulary_ptr")));
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
  for (const char* key : {"node_types", "edge_types"})
    if (!set_.manifest().contains(key) || !set_.manifest()[key].is_array())
      throw damaged_types(set_, fmt::format("has no list \"{}\"", key));
  read_node_types();
  read_edge_types();
}

const NodeTypeView& TypedGraphView::node_type(const std::string& name) const {
  const auto found = std::ranges::find(node_types_, name, &NodeTypeView::name);
  if (found == node_types_.end()) throw damaged_types(set_, fmt::format("has no node type '{}'", name));
  return *found;
}

void TypedGraphView::read_node_types() {
  for (const Json& type : set_.manifest()["node_types"]) {
    NodeTypeView view{.name = text_of(set_, type, "name")};
    if (!type.contains("nodes") || !type["nodes"].is_number_integer() || type["nodes"].get<int64_t>() < 0)
      throw damaged_types(set_, fmt::format("has no number of nodes of '{}'", view.name));
    view.nodes = type["nodes"];
    if (!type.contains("columns") || !type["columns"].is_array())
      throw damaged_types(set_, fmt::format("has no columns of '{}'", view.name));
    for (const Json& column : type["columns"]) require_column(set_, column, view.nodes);
    if (const Json time = type.value("time", Json()); !time.is_null()) {
      require_rows(set_, text_of(set_, time, "column"), view.nodes);
      view.time = set_.column<int64_t>(text_of(set_, time, "column"));
    }
    node_types_.push_back(std::move(view));
  }
}

void TypedGraphView::read_edge_types() {
  for (const Json& type : set_.manifest()["edge_types"]) {
    EdgeTypeView view{.source = text_of(set_, type, "source"),
                      .name = text_of(set_, type, "name"),
                      .target = text_of(set_, type, "target")};
    if (const Json time = type.value("time", Json()); !time.is_null())
      view.time = text_of(set_, type, "time");
    static_cast<void>(node_type(view.source));
    const std::string indptr = text_of(set_, type, "indptr");
    require_rows(set_, indptr, node_type(view.target).nodes + 1);
    view.indptr = set_.column<int64_t>(indptr);
    view.indices = set_.column<uint32_t>(text_of(set_, type, "indices"));
    if (view.indptr.front() != 0 || view.indptr.back() != static_cast<int64_t>(view.indices.size()))
      throw damaged_types(
          set_, fmt::format("has the edge type '{}', whose lists do not end with its last edge", view.name));
    edge_types_.push_back(std::move(view));
  }
}

}  // namespace plimsoll
