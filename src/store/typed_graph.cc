#include "store/typed_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "store/typed_manifest.h"

namespace plimsoll {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Checks that the columns of a type's key have one value for each node. Keys that are 0, 1, ... have none.
void require_key(const DataSetView& set, const ManifestPlace& type, int64_t nodes) {
  if (!type.object.contains("key")) return;
  for (const ManifestPlace& part : objects_of(set, type, "key")) {
    text_of(set, part, "name");
    if (!part.object.contains("column")) continue;
    const std::string values = text_of(set, part, "column");
    if (!part.object.contains("ptr")) {
      require_rows(set, values, nodes);
      static_cast<void>(set.column<int64_t>(values));
      continue;
    }
    require_rows(set, text_of(set, part, "ptr"), nodes + 1);
    const auto ptr = set.column<int64_t>(text_of(set, part, "ptr"));
    require_rows(set, values, ptr.back());
    static_cast<void>(set.column<uint8_t>(values));
  }
}

// Checks the columns of a type, and the reasons given for columns that were left out.
void require_columns(const DataSetView& set, const ManifestPlace& type, int64_t rows) {
  for (const ManifestPlace& column : objects_of(set, type, "columns")) require_column(set, column, rows);
  if (!type.object.contains("left_out")) return;
  for (const ManifestPlace& column : objects_of(set, type, "left_out")) {
    text_of(set, column, "name");
    text_of(set, column, "reason");
  }
}

}  // namespace

std::string typed_column(const std::vector<std::string_view>& parts) {
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
  tasks_ = read_tasks(set_);
  for (const TaskView& task : tasks_) node_type(task.entity);  // Throws if there is no such type.
}

const NodeTypeView& TypedGraphView::node_type(const std::string& name) const {
  const auto found = std::ranges::find(node_types_, name, &NodeTypeView::name);
  if (found == node_types_.end()) throw damaged_types(set_, fmt::format("has no node type '{}'", name));
  return *found;
}

void TypedGraphView::read_node_types() {
  for (const ManifestPlace& type : objects_of(set_, {set_.manifest(), ""}, "node_types")) {
    NodeTypeView view{.name = text_of(set_, type, "name")};
    view.nodes = count_of(set_, type, "nodes");
    require_key(set_, type, view.nodes);
    require_columns(set_, type, view.nodes);
    if (const auto time = object_of(set_, type, "time")) {
      require_rows(set_, text_of(set_, *time, "column"), view.nodes);
      view.time = set_.column<int64_t>(text_of(set_, *time, "column"));
    }
    node_types_.push_back(std::move(view));
  }
}

void TypedGraphView::read_edge_types() {
  for (const ManifestPlace& type : objects_of(set_, {set_.manifest(), ""}, "edge_types")) {
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
    const auto edges = static_cast<int64_t>(view.indices.size());
    require_columns(set_, type, edges);
    if (view.time == "edge") {
      const std::string times = text_of(set_, type, "times");
      require_rows(set_, times, edges);
      view.times = set_.column<int64_t>(times);
    }
    edge_types_.push_back(std::move(view));
  }
}

}  // namespace plimsoll
