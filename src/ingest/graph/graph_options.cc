#include "ingest/graph/graph_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// Writes paths as `shown` returns them. The name of a column is not a path, even if it has slashes.
template <typename Shown>
Json to_json(const GraphIngestOptions& options, const Shown& shown) {
  const EdgeListOptions& edges = options.edges;
  const NodeTableOptions& nodes = options.nodes;
  Json splits = Json::array();
  for (const fs::path& path : options.splits) splits.push_back(shown(path));
  Json json = {{"format", "graph"},
               {"source", edges.source},
               {"target", edges.target},
               {"weight", names_array(edges.weight) ? shown(edges.weight) : edges.weight},
               {"edge_features", edges.features},
               {"header", edges.header.value_or(false)},
               {"nodes", shown(nodes.table)},
               {"id", nodes.id},
               {"label", nodes.label},
               {"unlabelled", nodes.unlabelled},
               {"split", nodes.split},
               {"node_features", nodes.features},
               {"features", shown(nodes.feature_array)},
               {"labels", shown(nodes.label_array)},
               {"splits", std::move(splits)},
               {"node_count", options.node_count},
               {"ids", options.ids},
               {"direction", options.direction},
               {"undirected", options.undirected},
               {"dedup", options.dedup},
               {"self_loops", options.self_loops},
               {"features_dtype", options.features_dtype},
               {"order", options.order}};
  // Options that were added in later versions are listed only if they are used, so that data sets of earlier
  // versions are still recognised as the same.
  if (edges.header == false) json["header"] = "no";
  if (edges.comments != Comments::leading) json["comments"] = edges.comments;
  if (edges.layout) json["layout"] = *edges.layout;
  if (nodes.header) json["nodes_header"] = *nodes.header;
  if (!nodes.feature_layout.dtype.empty())
    json["feature_layout"] = {{"dtype", nodes.feature_layout.dtype}, {"shape", nodes.feature_layout.shape}};
  if (nodes.link) json["link"] = true;
  if (nodes.missing) json["missing"] = *nodes.missing;
  if (!nodes.target_array.empty()) json["targets"] = shown(nodes.target_array);
  return json;
}

std::string whole_path(const fs::path& path) {
  return path.empty() ? std::string() : fs::absolute(path).string();
}

// Returns a column name unchanged, and the absolute path of an array.
std::string column_or_path(const std::string& text) {
  return names_array(text) ? whole_path(text) : text;
}

// The text is "no", because the value false stands for detection.
std::optional<bool> read_header(const Json& header) {
  if (header.is_string()) return false;
  return header.get<bool>() ? std::optional(true) : std::nullopt;
}

}  // namespace

Json graph_options_json(const GraphIngestOptions& options) {
  return to_json(options, [](const fs::path& path) { return path.filename().string(); });
}

Json graph_inputs_json(const GraphIngestOptions& options) {
  Json json = to_json(options, whole_path);
  for (Json& feature : json["edge_features"]) feature = column_or_path(feature.get<std::string>());
  for (const fs::path& file : options.edges.files) json["edges"].push_back(whole_path(file));
  return json;
}

GraphIngestOptions read_graph_inputs(const Json& inputs) {
  GraphIngestOptions options;
  const auto read = [&](const char* key, auto& value) {
    value = inputs.at(key).get<std::remove_reference_t<decltype(value)>>();
  };
  const auto read_word = [&]<typename Enum>(const char* key, Enum& value) {
    value = parse_word<Enum>(inputs.at(key).get<std::string>(), key);
  };
  const auto read_path = [&](const char* key, fs::path& path) { path = inputs.at(key).get<std::string>(); };
  EdgeListOptions& edges = options.edges;
  for (const Json& file : inputs.at("edges")) edges.files.emplace_back(file.get<std::string>());
  read("source", edges.source);
  read("target", edges.target);
  read("weight", edges.weight);
  read("edge_features", edges.features);
  edges.header = read_header(inputs.at("header"));
  edges.comments = parse_word<Comments>(inputs.value("comments", "leading"), "comments");
  if (inputs.contains("layout"))
    edges.layout = parse_word<EdgeArrayLayout>(inputs.at("layout").get<std::string>(), "layout");
  NodeTableOptions& nodes = options.nodes;
  read_path("nodes", nodes.table);
  read("id", nodes.id);
  read("label", nodes.label);
  read("unlabelled", nodes.unlabelled);
  read("split", nodes.split);
  read("node_features", nodes.features);
  read_path("features", nodes.feature_array);
  read_path("labels", nodes.label_array);
  if (inputs.contains("nodes_header")) nodes.header = inputs.at("nodes_header").get<bool>();
  if (inputs.contains("feature_layout")) {
    nodes.feature_layout.dtype = inputs.at("feature_layout").at("dtype").get<std::string>();
    nodes.feature_layout.shape = inputs.at("feature_layout").at("shape").get<std::vector<int64_t>>();
  }
  nodes.target_array = inputs.value("targets", "");
  nodes.link = inputs.value("link", false);
  if (inputs.contains("missing")) nodes.missing = inputs.at("missing").get<float>();
  for (size_t split = 0; split < options.splits.size(); ++split)
    options.splits[split] = inputs.at("splits").at(split).get<std::string>();
  options.node_count = whole_number(inputs.at("node_count"));
  read_word("ids", options.ids);
  read_word("direction", options.direction);
  read("undirected", options.undirected);
  read("dedup", options.dedup);
  read_word("self_loops", options.self_loops);
  read("features_dtype", options.features_dtype);
  read_word("order", options.order);
  return options;
}

EdgeRules edge_rules(const GraphIngestOptions& options, const EdgeList& edges) {
  return {.out = options.direction == EdgeDirection::out,
          .undirected = options.undirected,
          .dedup = options.dedup,
          .loops = options.self_loops,
          .weight = edges.has_weight(),
          .features = edges.feature_names().size()};
}

}  // namespace plimsoll
