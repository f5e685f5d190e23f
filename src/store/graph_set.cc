#include "store/graph_set.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "memory/heap_bytes.h"
#include "store/data_kind.h"
#include "store/graph_set_tables.h"
#include "store/merge_shards.h"

namespace plimsoll {

void verify_graph_set(const std::filesystem::path& folder, std::vector<std::string>& wrong);
Merged merge_graph_sets(const MergeRequest& request);

namespace {

const DataKindRegistration kGraphSetRegistration({.name = kGraphSetKind,
                                                  .rows = "graphs",
                                                  .newest_version = 2,
                                                  .verify = verify_graph_set,
                                                  .merge = merge_graph_sets});

Json to_json(const GraphRange& range, bool recording) {
  Json json = {{"name", range.name}};
  if (recording) json["split"] = range.split;
  json["first_graph"] = range.first_graph;
  json["graphs"] = range.graphs;
  if (recording) {
    json["attack"] = range.attack ? Json(*range.attack) : Json();
    json["copy_of"] = range.copy_of ? Json(*range.copy_of) : Json();
    json["content"] = range.content;
  }
  return json;
}

GraphRange from_json(const Json& json, bool recording) {
  GraphRange range{
      json.at("name"), "", whole_number(json.at("first_graph")), whole_number(json.at("graphs")), {}, {}, {}};
  if (!recording) return range;
  range.split = json.at("split");
  if (json.contains("attack") && !json["attack"].is_null()) range.attack = json["attack"];
  if (json.contains("copy_of") && !json["copy_of"].is_null()) range.copy_of = json["copy_of"];
  range.content = json.value("content", "");
  return range;
}

// Returns the width of a column from its shape in the manifest. The column may have any width but must have
// two axes.
int64_t columns_of(const DataSetView& set, const std::string& name) {
  const auto found = set.columns().find(name);
  const bool matrix = found != set.columns().end() && found->second.shape().shape.size() == 2;
  if (!matrix)
    throw InputError(fmt::format("{}: needs a column '{}' with two axes", set.folder().string(), name));
  return found->second.shape().shape[1];
}

// Checks that ranges are consecutive and cover all graphs. Returns the fault, or "".
std::string fault_in(const std::vector<GraphRange>& ranges, const char* what, int64_t graphs) {
  int64_t next = 0;
  for (const GraphRange& range : ranges) {
    if (range.first_graph != next || range.graphs < 0 || range.graphs > graphs - next)
      return fmt::format("{} '{}' begins at graph {} with {} graphs, expected to begin at {} of {}", what,
                         range.name, range.first_graph, range.graphs, next, graphs);
    next += range.graphs;
  }
  return next == graphs ? "" : fmt::format("the {}s cover {} of {} graphs", what, next, graphs);
}

// Returns the fault in the tables. If splits overlapped, or recordings were outside their split, graphs would
// be evaluated on training data.
std::string fault_in(const GraphSetTables& tables, int64_t graphs) {
  std::string fault = fault_in(tables.splits, "split", graphs);
  if (!fault.empty() || tables.recordings.empty()) return fault;  // Graphs without recordings are allowed.
  fault = fault_in(tables.recordings, "recording", graphs);
  auto split = tables.splits.begin();
  for (const GraphRange& recording : tables.recordings) {
    if (!fault.empty()) return fault;
    if (recording.graphs == 0) continue;
    while (split->first_graph + split->graphs <= recording.first_graph) ++split;
    const int64_t end = recording.first_graph + recording.graphs;
    if (split->name != recording.split || end > split->first_graph + split->graphs)
      fault = fmt::format("recording '{}' of split '{}' has graphs in another split, expected all in its own",
                          recording.name, recording.split);
  }
  return fault;
}

struct RowWidths {
  int64_t node;
  int64_t edge;
};

// Returns the fault in the lengths of columns; "" if they agree.
std::string fault_in_lengths(const DataSetView& set, const GraphSpans& graphs, const RowWidths& features,
                             const TargetWidths& targets) {
  const size_t count = graphs.y.size();
  if (graphs.node_ptr.size() != count + 1 || graphs.edge_ptr.size() != count + 1)
    return "node_ptr and edge_ptr must have one element more than y";
  const auto ends = [](std::span<const int64_t> pointers) {
    return std::pair(pointers.front(), pointers.back());
  };
  const auto in_rows = [](std::span<const float> values, int64_t width) {
    return width == 0 ? 0 : static_cast<int64_t>(values.size()) / width;
  };
  const auto nodes = features.node == 0 ? graphs.node_ptr.back() : in_rows(graphs.x, features.node);
  if (ends(graphs.node_ptr) != std::pair<int64_t, int64_t>(0, nodes))
    return "node_ptr does not run from 0 to the number of rows of x";
  if (set.has_column("node_y") && static_cast<int64_t>(graphs.node_y.size()) != nodes)
    return "node_y and x differ in length";
  if (targets.graph > 0 && in_rows(graphs.target, targets.graph) != graphs.graphs())
    return "target and y differ in length";
  if (targets.node > 0 && in_rows(graphs.node_target, targets.node) != nodes)
    return "node_target and x differ in length";
  if (set.has_column("pos") && in_rows(graphs.pos, kCoordinates) != nodes)
    return "pos and x differ in length";
  if (ends(graphs.edge_ptr) != std::pair<int64_t, int64_t>(0, static_cast<int64_t>(graphs.edges.size() / 2)))
    return "edge_ptr does not run from 0 to the number of edges";
  if (features.edge != 0 &&
      graphs.edge_attr.size() / static_cast<size_t>(features.edge) != graphs.edges.size() / 2)
    return "edges and edge_attr differ in length";
  return "";
}

}  // namespace

int64_t GraphRange::bytes() const {
  int64_t bytes = 2 * static_cast<int64_t>(sizeof(GraphRange));
  for (const std::string* text : {&name, &split, &content}) bytes += heap_bytes(*text);
  for (const auto* text : {&attack, &copy_of})
    if (*text) bytes += heap_bytes(**text);
  return bytes;
}

GraphSetTables tables_of_manifest(const Json& manifest, Charge& charge) {
  GraphSetTables tables;
  const auto read = [&](const char* table, bool recording, std::vector<GraphRange>& ranges) {
    for (const Json& row : manifest.at(table)) {
      ranges.push_back(from_json(row, recording));
      charge.add(ranges.back().bytes());
    }
  };
  try {
    read("splits", false, tables.splits);
    read("recordings", true, tables.recordings);
    tables.node_features = manifest.at("features").at("node").get<std::vector<std::string>>();
    tables.edge_features = manifest.at("features").at("edge").get<std::vector<std::string>>();
    tables.vocabulary.channels = manifest.value("channels", std::vector<std::string>{});
    const size_t channels = std::max<size_t>(tables.vocabulary.channels.size(), 1);
    for (const Json& id : manifest.at("vocabulary")) {
      const int64_t number = whole_number(id);
      if (number < 0 || static_cast<MessageKey>(number) >> kChannelShift >= channels)
        throw UsageError(
            fmt::format("vocabulary holds {}, expected 32-bit IDs of {} channels", number, channels));
      tables.vocabulary.keys.push_back(static_cast<MessageKey>(number));
    }
  } catch (const Json::exception& error) {
    throw UsageError(error.what());
  }
  return tables;
}

GraphSetWriter::GraphSetWriter(const std::filesystem::path& folder, bool replace, int64_t node_features,
                               int64_t edge_features, const TargetWidths& targets, FileSystem& files)
    : set_(folder, replace, files),
      node_ptr_(set_.column<int64_t>("node_ptr")),
      edge_ptr_(set_.column<int64_t>("edge_ptr")),
      x_(set_.column<float>("x", {node_features})),
      edges_(set_.column<int32_t>("edges", {2})),
      edge_attr_(set_.column<float>("edge_attr", {edge_features})),
      y_(set_.column<int64_t>("y")) {
  if (targets.graph > 0) target_ = &set_.column<float>("target", {targets.graph});
  if (targets.node > 0) node_target_ = &set_.column<float>("node_target", {targets.node});
  const int64_t zero = 0;
  node_ptr_.append(std::span(&zero, 1));
  edge_ptr_.append(std::span(&zero, 1));
}

void GraphSetWriter::append(const GraphSpans& graphs) {
  for (int64_t g = 0; g < graphs.graphs(); ++g) {
    const auto at = static_cast<size_t>(g) + 1;
    const int64_t nodes = nodes_ + graphs.node_ptr[at] - graphs.node_ptr[0];
    const int64_t edges = edge_count_ + graphs.edge_ptr[at] - graphs.edge_ptr[0];
    node_ptr_.append(std::span(&nodes, 1));
    edge_ptr_.append(std::span(&edges, 1));
  }
  x_.append(graphs.x);
  edges_.append(graphs.edges);
  edge_attr_.append(graphs.edge_attr);
  y_.append(graphs.y);
  if (target_ != nullptr) target_->append(graphs.target);
  if (node_target_ != nullptr) node_target_->append(graphs.node_target);
  nodes_ += graphs.node_ptr.back() - graphs.node_ptr[0];
  edge_count_ += graphs.edge_ptr.back() - graphs.edge_ptr[0];
  graphs_ += graphs.graphs();
  if (!graphs.node_y.empty()) {
    if (node_y_ == nullptr) node_y_ = &set_.column<int64_t>("node_y");
    node_y_->append(graphs.node_y);
    node_classes_ += static_cast<int64_t>(graphs.node_y.size());
  }
  if (!graphs.pos.empty()) {
    if (pos_ == nullptr) pos_ = &set_.column<float>("pos", {kCoordinates});
    pos_->append(graphs.pos);
    positions_ += static_cast<int64_t>(graphs.pos.size()) / kCoordinates;
  }
  const auto require_all = [this](const NpyWriter* column, const char* name, int64_t rows) {
    if (column != nullptr && rows != nodes_)
      throw Failure(fmt::format("a graph_set was given {} of {} of its {} nodes; expected all or none", name,
                                rows, nodes_));
  };
  require_all(node_y_, "node_y", node_classes_);
  require_all(pos_, "pos", positions_);
}

void GraphSetWriter::publish(const GraphSetTables& tables, Json provenance) {
  JsonTable splits;
  for (const GraphRange& split : tables.splits) splits.push_back(to_json(split, false));
  JsonTable recordings;
  for (const GraphRange& recording : tables.recordings) recordings.push_back(to_json(recording, true));
  JsonTable vocabulary;
  for (const MessageKey key : tables.vocabulary.keys) vocabulary.push_back(key);
  Json manifest = {{"kind", kGraphSetKind},
                   {"format_version", 0},
                   {"graphs", graphs_},
                   {"nodes", nodes_},
                   {"edges", edge_count_},
                   {"columns", Json::object()},
                   {"splits", splits.take()},
                   {"recordings", recordings.take()},
                   {"features", {{"node", tables.node_features}, {"edge", tables.edge_features}}},
                   {"vocabulary", vocabulary.take()},
                   {"provenance", std::move(provenance)}};
  if (!tables.vocabulary.channels.empty()) manifest["channels"] = tables.vocabulary.channels;
  // Coordinates are in pos but not in x. A reader that does not know pos would train without them, so it must
  // refuse the set.
  set_.publish(std::move(manifest), pos_ == nullptr ? 1 : 2);
}

GraphSetView::GraphSetView(const std::filesystem::path& folder) : set_(folder, kGraphSetKind) {
  node_features_ = columns_of(set_, "x");
  edge_features_ = columns_of(set_, "edge_attr");
  graphs_ = {set_.column<int64_t>("node_ptr"),
             set_.column<int64_t>("edge_ptr"),
             set_.column<float>("x", {node_features_}),
             set_.column<int32_t>("edges", {2}),
             set_.column<float>("edge_attr", {edge_features_}),
             set_.column<int64_t>("y"),
             set_.has_column("node_y") ? set_.column<int64_t>("node_y") : std::span<const int64_t>{}};
  const auto find_target = [this](const char* name, int64_t& width, std::span<const float>& values) {
    if (!set_.has_column(name)) return;
    width = columns_of(set_, name);
    values = set_.column<float>(name, {width});
  };
  find_target("target", targets_.graph, graphs_.target);
  find_target("node_target", targets_.node, graphs_.node_target);
  if (set_.has_column("pos")) graphs_.pos = set_.column<float>("pos", {kCoordinates});
  const auto damaged = [&](const std::string& what) {
    return InputError(fmt::format("{}: {}; the data set is damaged, make it again", folder.string(), what));
  };
  const std::string length_fault =
      fault_in_lengths(set_, graphs_, {node_features_, edge_features_}, targets_);
  if (!length_fault.empty()) throw damaged(length_fault);
  try {
    tables_ = tables_of_manifest(set_.manifest(), charge_);
  } catch (const UsageError& error) {
    throw damaged(std::string("manifest.json: ") + error.what());
  }
  const auto require_names = [&](const std::vector<std::string>& names, const char* column, int64_t width) {
    if (!names.empty() && std::ssize(names) != width)
      throw damaged(fmt::format("manifest.json: features names {} columns of {}, which has {}", names.size(),
                                column, width));
  };
  require_names(tables_.node_features, "x", node_features_);
  require_names(tables_.edge_features, "edge_attr", edge_features_);
  const std::string fault = fault_in(tables_, graphs_.graphs());
  if (!fault.empty()) throw damaged("manifest.json: " + fault);
}

}  // namespace plimsoll
