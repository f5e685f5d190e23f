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

const DataKindRegistration kGraphSetKind({.name = "graph_set",
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

// Columns other than the first are as wide as the manifest's shape says; the width is free, the rank is not.
int64_t columns_of(const DataSetView& set, const std::string& name) {
  const auto found = set.columns().find(name);
  const bool matrix = found != set.columns().end() && found->second.shape().shape.size() == 2;
  if (!matrix)
    throw InputError(fmt::format("{}: needs a column '{}' with two axes", set.folder().string(), name));
  return found->second.shape().shape[1];
}

// What is wrong with ranges that are to stand one after the other and hold all graphs; "" where nothing is.
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

// Splits that overlap, and recordings of a split other than the one they lie in, would have graphs judge what
// they trained.
std::string fault_in(const GraphSetTables& tables, int64_t graphs) {
  std::string fault = fault_in(tables.splits, "split", graphs);
  if (!fault.empty() || tables.recordings.empty()) return fault;  // graphs need not come from recordings
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
            fmt::format("vocabulary holds {}, expected IDs of 32 bits of {} channels", number, channels));
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
  Json manifest = {{"kind", "graph_set"},
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
  // What stands in pos is not in x: a reader that does not know the column would train without it.
  set_.publish(std::move(manifest), pos_ == nullptr ? 1 : 2);
}

GraphSetView::GraphSetView(const std::filesystem::path& folder) : set_(folder, "graph_set") {
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
  const size_t graphs = graphs_.y.size();
  const auto damaged = [&](const std::string& what) {
    return InputError(fmt::format("{}: {}; the data set is damaged, make it again", folder.string(), what));
  };
  if (graphs_.node_ptr.size() != graphs + 1 || graphs_.edge_ptr.size() != graphs + 1)
    throw damaged("node_ptr and edge_ptr must have one element more than y");
  const auto ends = [](std::span<const int64_t> pointers) {
    return std::pair(pointers.front(), pointers.back());
  };
  const auto nodes =
      node_features_ == 0 ? graphs_.node_ptr.back() : static_cast<int64_t>(graphs_.x.size()) / node_features_;
  if (ends(graphs_.node_ptr) != std::pair<int64_t, int64_t>(0, nodes))
    throw damaged("node_ptr does not run from 0 to the number of rows of x");
  if (set_.has_column("node_y") && static_cast<int64_t>(graphs_.node_y.size()) != nodes)
    throw damaged("node_y and x differ in length");
  const auto in_rows = [](std::span<const float> values, int64_t width) {
    return width == 0 ? 0 : static_cast<int64_t>(values.size()) / width;
  };
  if (targets_.graph > 0 && in_rows(graphs_.target, targets_.graph) != graphs_.graphs())
    throw damaged("target and y differ in length");
  if (targets_.node > 0 && in_rows(graphs_.node_target, targets_.node) != nodes)
    throw damaged("node_target and x differ in length");
  if (set_.has_column("pos") && in_rows(graphs_.pos, kCoordinates) != nodes)
    throw damaged("pos and x differ in length");
  if (ends(graphs_.edge_ptr) !=
      std::pair<int64_t, int64_t>(0, static_cast<int64_t>(graphs_.edges.size() / 2)))
    throw damaged("edge_ptr does not run from 0 to the number of edges");
  if (edge_features_ != 0 &&
      graphs_.edge_attr.size() / static_cast<size_t>(edge_features_) != graphs_.edges.size() / 2)
    throw damaged("edges and edge_attr differ in length");
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
  const std::string fault = fault_in(tables_, static_cast<int64_t>(graphs));
  if (!fault.empty()) throw damaged("manifest.json: " + fault);
}

}  // namespace plimsoll
