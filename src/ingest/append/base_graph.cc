#include "ingest/append/base_graph.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "base/word_text.h"
#include "ingest/graph/edge_shard.h"
#include "ingest/graph/graph_options.h"
#include "io/number_array.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

InputError not_appendable(const fs::path& folder, const std::string& why, const std::string& remedy) {
  return InputError(
      fmt::format("{}: {}, so nothing can be appended to it; {}", folder.string(), why, remedy));
}

fs::path require_graph(const fs::path& folder) {
  const std::string kind = kind_of(folder);
  if (kind == kGraphKind) return folder;
  throw not_appendable(folder, fmt::format("is a data set of kind '{}', expected '{}'", kind, kGraphKind),
                       kind == kEdgeShard ? "merge all shards first" : "name a graph");
}

GraphIngestOptions options_of(const GraphView& view) {
  const fs::path& folder = view.set().folder();
  Json options = view.set().manifest().value(Json::json_pointer("/provenance/options"), Json());
  if (!options.is_object() || options.value("format", Json()) != kGraphKind)
    throw not_appendable(folder, "was not made by `plimsoll ingest graph`",
                         "append to the graph that it was made from");
  options["edges"] = Json::array();
  try {
    return read_graph_inputs(options);
  } catch (const Json::exception& error) {
    throw InputError(folder.string() + ": manifest.json: " + error.what() + "; make the graph again");
  } catch (const UsageError& error) {
    throw InputError(folder.string() + ": manifest.json: " + error.what() + "; make the graph again");
  }
}

// Options that describe the whole graph, not the new files.
constexpr std::array<std::string_view, 8> kOfBase = {"--ids",   "--direction",      "--undirected", "--dedup",
                                                     "--order", "--features-dtype", "--self-loops", "--link"};

bool same_presence(const fs::path& base, const fs::path& given) {
  return base.empty() == given.empty();
}

// Rows of new nodes must have the same columns as those of the base.
void require_same_rows(const GraphIngestOptions& base, const GraphIngestOptions& given,
                       const fs::path& folder) {
  const NodeTableOptions& old = base.nodes;
  const NodeTableOptions& added = given.nodes;
  const bool any = !added.table.empty() || !added.feature_array.empty() || !added.label_array.empty() ||
                   !added.target_array.empty();
  if (!any) return;
  const auto require = [&](const fs::path& was, const fs::path& is, const char* option) {
    if (same_presence(was, is)) return;
    throw UsageError(fmt::format(
        "--append {}: the rows of its nodes were read {} {}; {}", folder.string(),
        was.empty() ? "without" : "with", option,
        was.empty() ? "leave it out" : "give it with the rows of the new nodes, and of these alone"));
  };
  require(old.table, added.table, "--nodes");
  require(old.feature_array, added.feature_array, "--features");
  require(old.label_array, added.label_array, "--labels");
  require(old.target_array, added.target_array, "--targets");
  if (old.link)
    throw UsageError(
        fmt::format("--append {}: its features are a link to a file, which has no rows for new "
                    "nodes; ingest all edges together, with a file that has all rows",
                    folder.string()));
  const bool has_features = !old.feature_array.empty() || !old.features.empty();
  if (has_features && StoredAs::parse(base.features_dtype).type == NumberType::i8)
    throw UsageError(
        fmt::format("--append {}: its features were rounded to i8 with scales that depend on all "
                    "rows; ingest all files together to add nodes",
                    folder.string()));
}

// Weights and features of edges that are .npy files belong to the old edges.
void require_edge_arrays(const EdgeListOptions& base, const std::function<bool(std::string_view)>& is_given) {
  const auto require = [&](bool is_array, const char* option) {
    if (is_array && !is_given(option))
      throw UsageError(
          fmt::format("--append: the old edges have {} from a file; give that of the new edges", option));
  };
  require(names_array(base.weight), "--weight");
  require(base.features.size() == 1 && names_array(base.features[0]), "--edge-features");
}

}  // namespace

BaseGraph::BaseGraph(const fs::path& folder) : view(require_graph(folder)), options(options_of(view)) {
  ids = view.has_names() ? NodeIds::text : view.node_id().empty() ? NodeIds::dense : NodeIds::sparse;
  if (options.order != NodeOrderKind::none)
    throw not_appendable(folder, fmt::format("its nodes are in the order `--order {}`", options.order),
                         "ingest it with --order none, or ingest all files together");
}

bool BaseGraph::has_rows() const {
  const NodeTableOptions& nodes = options.nodes;
  return !nodes.table.empty() || !nodes.feature_array.empty() || !nodes.label_array.empty() ||
         !nodes.target_array.empty();
}

GraphIngestOptions append_options(const GraphIngestOptions& given,
                                  const std::function<bool(std::string_view option)>& is_given) {
  for (const std::string_view option : kOfBase)
    if (is_given(option))
      throw UsageError(
          fmt::format("--append: {} is that of {}; leave {} out", option, given.append.string(), option));
  if (!given.shard.is_all())
    throw UsageError("--append: the new edges are read by one process; leave --shard out");
  const GraphIngestOptions base = BaseGraph(given.append).options;
  require_same_rows(base, given, given.append);
  require_edge_arrays(base.edges, is_given);
  GraphIngestOptions all = given;
  const auto inherit = [&](std::string_view option, auto& value, const auto& of_base) {
    if (!is_given(option)) value = of_base;
  };
  inherit("--source", all.edges.source, base.edges.source);
  inherit("--target", all.edges.target, base.edges.target);
  inherit("--weight", all.edges.weight, base.edges.weight);
  inherit("--edge-features", all.edges.features, base.edges.features);
  inherit("--header", all.edges.header, base.edges.header);
  inherit("--comments", all.edges.comments, base.edges.comments);
  inherit("--layout", all.edges.layout, base.edges.layout);
  if (!all.nodes.table.empty()) {
    inherit("--nodes-header", all.nodes.header, base.nodes.header);
    inherit("--id", all.nodes.id, base.nodes.id);
    inherit("--label", all.nodes.label, base.nodes.label);
    inherit("--split", all.nodes.split, base.nodes.split);
    inherit("--node-features", all.nodes.features, base.nodes.features);
  }
  inherit("--unlabelled", all.nodes.unlabelled, base.nodes.unlabelled);
  inherit("--missing", all.nodes.missing, base.nodes.missing);
  all.ids = base.ids;
  all.direction = base.direction;
  all.undirected = base.undirected;
  all.dedup = base.dedup;
  all.self_loops = base.self_loops;
  all.features_dtype = base.features_dtype;
  return all;
}

Json append_provenance(const BaseGraph& base, const Json& sources, const GraphIngestOptions& options) {
  const Json& old = base.view.set().manifest().at("provenance");
  Json all = old.at("sources");
  all.insert(all.end(), sources.begin(), sources.end());
  Json merged = old.at("options");
  Json appended = {{"sources", sources.size()}};
  const Json given = graph_options_json(options);
  for (const auto& [key, value] : given.items())
    if (merged.value(key, Json()) != value) appended[key] = value;
  if (options.node_count >= 0) merged["node_count"] = options.node_count;
  merged["appended"].push_back(std::move(appended));
  return make_provenance(std::move(all), std::move(merged));
}

}  // namespace plimsoll
