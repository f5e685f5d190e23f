#include "store/graph.h"

#include <fmt/format.h>

#include "base/error.h"
#include "store/data_kind.h"
#include "store/typed_graph.h"

namespace plimsoll {

void verify_graph(const std::filesystem::path& folder, std::vector<std::string>& wrong);

namespace {

const DataKindRegistration kGraphRegistration(
    {.name = kGraphKind, .rows = "edges", .newest_version = kTypedGraphVersion, .verify = verify_graph});

constexpr int kNarrowVersion = 2;  // Version of a graph with narrow features.

// Returns the width of a column, which may have any width, or 0 if there is no such column.
int64_t width(const DataSetView& set, const std::string& name) {
  const auto found = set.columns().find(name);
  if (found == set.columns().end()) return 0;
  const std::vector<int64_t>& shape = found->second.shape().shape;
  if (shape.size() != 2 || shape[1] < 1)
    throw InputError(fmt::format("{}: column '{}' has the shape {}, expected two axes", set.folder().string(),
                                 name, Json(shape).dump()));
  return shape[1];
}

template <typename T>
std::span<const T> optional_column(const DataSetView& set, const std::string& name,
                                   const std::vector<int64_t>& row = {}) {
  return set.has_column(name) ? set.column<T>(name, row) : std::span<const T>{};
}

std::string split_column(size_t split) {
  return std::string(kGraphSplits[split]) + "_idx";
}

}  // namespace

std::string edges_column(size_t split) {
  return std::string(kGraphSplits[split]) + "_edges";
}

GraphWriter::GraphWriter(const std::filesystem::path& folder, bool replace, FileSystem& files)
    : set_(folder, replace, files), indptr_(set_.column<int64_t>("indptr")) {
  const int64_t zero = 0;
  indptr_.append(std::span(&zero, 1));
}

template <typename T>
NpyWriter& GraphWriter::column(NpyWriter*& writer, const std::string& name, const std::vector<int64_t>& row) {
  if (writer == nullptr) writer = &set_.column<T>(name, row);
  return *writer;
}

void GraphWriter::append_row_ends(std::span<const int64_t> ends) {
  indptr_.append(ends);
  nodes_ += static_cast<int64_t>(ends.size());
  if (!ends.empty()) edges_ = ends.back();
}

void GraphWriter::append_indices(std::span<const uint32_t> indices) {
  column<uint32_t>(indices_.writer, "indices").append(indices);
  indices_.rows += static_cast<int64_t>(indices.size());
}

void GraphWriter::append_indices(std::span<const int64_t> indices) {
  column<int64_t>(indices_.writer, "indices").append(indices);
  indices_.rows += static_cast<int64_t>(indices.size());
}

void GraphWriter::append_edge_weight(std::span<const float> weights) {
  column<float>(edge_weight_.writer, "edge_weight").append(weights);
  edge_weight_.rows += static_cast<int64_t>(weights.size());
}

void GraphWriter::append_edge_attr(std::span<const float> values, int64_t features) {
  column<float>(edge_attr_.writer, "edge_attr", {features}).append(values);
  edge_attr_.rows += static_cast<int64_t>(values.size()) / features;
}

void GraphWriter::append_edge_id(std::span<const int64_t> ids) {
  column<int64_t>(edge_id_.writer, "edge_id").append(ids);
  edge_id_.rows += static_cast<int64_t>(ids.size());
}

void GraphWriter::append_x(std::span<const float> values, int64_t features) {
  column<float>(x_.writer, "x", {features}).append(values);
  x_.rows += static_cast<int64_t>(values.size()) / features;
  narrow_x_.look_at(values, features);
}

void GraphWriter::link_x(const std::filesystem::path& array, const std::function<void()>& tick) {
  linked_x_ = link_column(array, set_.path() / "x.npy", tick);
}

void GraphWriter::share(const GraphView& from, const std::string& name, const std::function<void()>& tick) {
  const Json narrow = from.set().manifest().value(Json::json_pointer("/narrow/" + name), Json());
  if (!narrow.is_null()) shared_narrow_ = narrow;
  set_.share(from.set(), name, tick);
}

void GraphWriter::append_y(std::span<const int64_t> classes) {
  column<int64_t>(y_.writer, "y").append(classes);
  y_.rows += static_cast<int64_t>(classes.size());
}

void GraphWriter::append_node_targets(std::span<const float> values, int64_t width) {
  column<float>(node_targets_.writer, "node_target", {width}).append(values);
  node_targets_.rows += static_cast<int64_t>(values.size()) / width;
}

void GraphWriter::append_node_id(std::span<const int64_t> ids) {
  column<int64_t>(node_id_.writer, "node_id").append(ids);
  node_id_.rows += static_cast<int64_t>(ids.size());
}

void GraphWriter::append_node_name(std::string_view name) {
  if (name_ptr_.writer == nullptr) {
    const int64_t zero = 0;
    column<int64_t>(name_ptr_.writer, "node_name_ptr").append(std::span(&zero, 1));
  }
  column<uint8_t>(names_, "node_name").append(std::span(name.data(), name.size()));
  name_bytes_ += static_cast<int64_t>(name.size());
  name_ptr_.writer->append(std::span<const int64_t>(&name_bytes_, 1));
  ++name_ptr_.rows;
}

void GraphWriter::append_split(size_t split, std::span<const int64_t> nodes) {
  column<int64_t>(splits_[split], split_column(split)).append(nodes);
}

void GraphWriter::append_split_edges(size_t split, std::span<const int64_t> edges) {
  column<int64_t>(split_edges_[split], edges_column(split), {2}).append(edges);
}

void GraphWriter::require_counts() const {
  const auto require = [](const Counted& column, int64_t rows, const char* name) {
    if (column.writer != nullptr && column.rows != rows)
      throw Failure(fmt::format("a graph was given {} rows of '{}', expected {}; this is a bug in Plimsoll",
                                column.rows, name, rows));
  };
  require(indices_, edges_, "indices");
  require(edge_weight_, edges_, "edge_weight");
  require(edge_attr_, edges_, "edge_attr");
  require(edge_id_, edges_, "edge_id");
  require(x_, nodes_, "x");
  if (linked_x_ && linked_x_->shape.rows() != nodes_)
    throw Failure(fmt::format("a graph was linked to {} rows of 'x', expected {}; this is a bug in Plimsoll",
                              linked_x_->shape.rows(), nodes_));
  require(y_, nodes_, "y");
  require(node_targets_, nodes_, "node_target");
  require(node_id_, nodes_, "node_id");
  require(name_ptr_, nodes_, "node_name");
}

void GraphWriter::publish(const GraphTables& tables, Json provenance) {
  if (indices_.writer == nullptr) append_indices(std::span<const uint32_t>{});
  require_counts();
  Json narrow = x_.writer == nullptr ? shared_narrow_ : narrow_x_.store(set_, "x");
  Json columns = Json::object();
  if (linked_x_) {
    narrow = linked_x_->narrow;
    columns["x"] = {{"file", "x.npy"},
                    {"dtype", linked_x_->shape.dtype},
                    {"shape", linked_x_->shape.shape},
                    {"xxh3", linked_x_->checksum},
                    {"link", linked_x_->how}};
  }
  Json manifest = {{"kind", kGraphKind},
                   {"format_version", 0},
                   {"nodes", nodes_},
                   {"edges", edges_},
                   {"direction", tables.direction},
                   {"classes", tables.classes},
                   {"columns", std::move(columns)},
                   {"features", {{"node", tables.node_features}, {"edge", tables.edge_features}}},
                   {"class_names", tables.class_names}};
  if (!narrow.is_null()) manifest["narrow"] = {{"x", narrow}};
  manifest["provenance"] = std::move(provenance);
  set_.publish(std::move(manifest), narrow.is_null() ? 1 : kNarrowVersion);
}

GraphView::GraphView(const std::filesystem::path& folder) : set_(folder, kGraphKind) {
  if (has_node_types(set_.manifest()))
    throw InputError(
        folder.string() +
        ": is a graph with node types, expected a graph of one type; only inspect, verify, stage and "
        "Python's "
        "plimsoll.open read node types; Python's plimsoll.from_pyg makes a graph of one type from the "
        "edge_index of an edge type");
  edge_features_ = width(set_, "edge_attr");
  indptr_ = set_.column<int64_t>("indptr");
  const auto indices = set_.columns().find("indices");
  if (indices != set_.columns().end() && indices->second.shape().dtype == npy_dtype<int64_t>())
    wide_indices_ = set_.column<int64_t>("indices");
  else
    indices_ = set_.column<uint32_t>("indices");
  edge_weight_ = optional_column<float>(set_, "edge_weight");
  edge_attr_ = optional_column<float>(set_, "edge_attr", {edge_features_});
  edge_id_ = optional_column<int64_t>(set_, "edge_id");
  if (set_.has_column("x")) {
    x_values_ = RowValues::of(set_, "x");
    x_ = set_.columns().at("x").data();
  }
  y_ = optional_column<int64_t>(set_, "y");
  target_width_ = width(set_, "node_target");
  if (target_width_ > 0) node_targets_ = set_.column<float>("node_target", {target_width_});
  node_id_ = optional_column<int64_t>(set_, "node_id");
  name_ptr_ = optional_column<int64_t>(set_, "node_name_ptr");
  const auto names = optional_column<uint8_t>(set_, "node_name");
  names_ = {reinterpret_cast<const char*>(names.data()), names.size()};
  for (size_t split = 0; split < kGraphSplits.size(); ++split) {
    splits_[split] = optional_column<int64_t>(set_, split_column(split));
    split_edges_[split] = optional_column<int64_t>(set_, edges_column(split), {2});
  }

  const auto damaged = [&](const std::string& what) {
    return InputError(fmt::format("{}: {}; the data set is damaged, make it again", folder.string(), what));
  };
  edges_ = static_cast<int64_t>(indices_.size() + wide_indices_.size());
  if (indptr_.empty() || indptr_.front() != 0 || indptr_.back() != edges_)
    throw damaged("indptr does not run from 0 to the number of indices");
  const auto require = [&](const char* name, int64_t rows) {
    const auto found = set_.columns().find(name);
    if (found != set_.columns().end() && found->second.shape().rows() != rows)
      throw damaged(fmt::format("'{}' has {} rows, expected {}", name, found->second.shape().rows(), rows));
  };
  for (const char* name : {"edge_weight", "edge_attr", "edge_id"}) require(name, edges_);
  for (const char* name : {"x", "y", "node_target", "node_id"}) require(name, nodes());
  require("node_name_ptr", nodes() + 1);
  if (set_.has_column("node_name") != set_.has_column("node_name_ptr"))
    throw damaged("only one of node_name and node_name_ptr exists");
  if (has_names() && (name_ptr_.front() != 0 || name_ptr_.back() != static_cast<int64_t>(names_.size())))
    throw damaged("node_name_ptr does not run from 0 to the number of bytes of node_name");
  try {
    read_tables();
  } catch (const Json::exception& error) {
    throw damaged(std::string("manifest.json: ") + error.what());
  }
  require_narrow_x();
  require_names();
}

// Checks that the manifest has as many names as the columns have features or classes.
void GraphView::require_names() const {
  const auto require = [&](const std::vector<std::string>& names, const char* what, int64_t expected) {
    if (!names.empty() && std::ssize(names) != expected)
      throw InputError(
          fmt::format("{}: manifest.json names {} {}, expected {}; the data set is damaged, make it again",
                      set_.folder().string(), names.size(), what, expected));
  };
  require(tables_.class_names, "classes", tables_.classes);
  require(tables_.node_features, "features of nodes (column 'x')", node_features());
  require(tables_.edge_features, "features of edges (column 'edge_attr')", edge_features());
}

// Checks that the manifest's entry for x agrees with the column.
void GraphView::require_narrow_x() const {
  const Json& manifest = set_.manifest();
  const Json narrow = manifest.value(Json::json_pointer("/narrow/x"), Json());
  const bool is_narrow = x_values_.type != NumberType::f32;
  const int64_t version = manifest.at("format_version");
  const std::string declared = narrow.is_object() && narrow.value("type", Json()).is_string()
                                   ? narrow["type"].get<std::string>()
                                   : "f32";
  if (declared == name_of(x_values_.type) && (version == kNarrowVersion) == is_narrow) return;
  throw InputError(fmt::format(
      "{}: column 'x' is {}, expected {} as the manifest of format version {} says; the data set is damaged, "
      "make it again",
      set_.folder().string(), name_of(x_values_.type), declared, version));
}

std::string_view GraphView::name(int64_t node) const {
  const auto at = static_cast<size_t>(node);
  const int64_t begin = name_ptr_[at];
  const int64_t end = name_ptr_[at + 1];
  if (begin < 0 || end < begin || end > static_cast<int64_t>(names_.size()))
    throw InputError(fmt::format(
        "{}: column 'node_name_ptr' does not ascend at node {}; the data set is damaged, make it again",
        set_.folder().string(), node));
  return names_.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

void GraphView::read_tables() {
  const Json& manifest = set_.manifest();
  const auto word = manifest.at("direction").get<std::string>();
  const std::optional<EdgeDirection> direction = find_word<EdgeDirection>(word);
  if (!direction)
    throw InputError(
        fmt::format("{}: direction '{}' is neither 'in' nor 'out'; the data set is damaged, make it again",
                    set_.folder().string(), word));
  tables_ = {.direction = *direction,
             .classes = manifest.at("classes"),
             .class_names = manifest.at("class_names").get<std::vector<std::string>>(),
             .node_features = manifest.at("features").at("node").get<std::vector<std::string>>(),
             .edge_features = manifest.at("features").at("edge").get<std::vector<std::string>>()};
}

}  // namespace plimsoll
