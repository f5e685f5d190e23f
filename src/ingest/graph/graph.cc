#include "ingest/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "ingest/append/append.h"
#include "ingest/graph/graph_build.h"
#include "ingest/graph/graph_options.h"
#include "ingest/text/source_hashes.h"
#include "ingest/text/spool.h"
#include "store/output.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// Returns the result if the output already exists and has the same provenance; nullopt otherwise.
std::optional<GraphIngestResult> find_made(const GraphIngestOptions& options, const Json& provenance,
                                           const std::vector<fs::path>& sources) {
  if (!is_made_already(options.out, options.force, provenance, sources)) return std::nullopt;
  const GraphView view(options.out);
  return GraphIngestResult{.already_there = true,
                           .ids = view.has_names()         ? NodeIds::text
                                  : view.node_id().empty() ? NodeIds::dense
                                                           : NodeIds::sparse,
                           .nodes = view.nodes(),
                           .edges = view.edges(),
                           .node_features = view.node_features(),
                           .edge_features = view.edge_features(),
                           .classes = view.tables().classes};
}

// Returns the files with node data, which the merge reads.
std::vector<fs::path> node_files(const GraphIngestOptions& options) {
  std::vector<fs::path> all = NodeTable(options.nodes).files();
  for (const fs::path& path : options.splits)
    if (!path.empty()) all.push_back(array_place(path).file);
  return all;
}

// Returns the sources of edges, from the shards, and the sources of nodes, from the current files.
Json merged_sources(const std::vector<ShardFolder>& shards, const EdgeList& list,
                    const GraphIngestOptions& options) {
  const size_t values = list.value_files().size();
  Json edges = Json::array();
  Json of_values;
  for (const ShardFolder& shard : shards) {
    const Json& sources = shard.provenance.at("sources");
    const auto own = sources.end() - static_cast<std::ptrdiff_t>(std::min(values, sources.size()));
    edges.insert(edges.end(), sources.begin(), own);
    const Json last(std::vector<Json>(own, sources.end()));
    if (of_values.is_null()) of_values = last;
    if (of_values != last)
      throw InputError(fmt::format("{}: its weights or features of edges are {}, expected {}; make it again",
                                   shard.folder.string(), last.dump(), of_values.dump()));
  }
  edges.insert(edges.end(), of_values.begin(), of_values.end());
  const Json nodes = source_hashes(node_files(options)).take();
  edges.insert(edges.end(), nodes.begin(), nodes.end());
  return edges;
}

// Appends inputs that can be read more than once.
GraphIngestResult append_files(const GraphIngestOptions& options, const GraphProgress& progress,
                               FileSystem& files) {
  const BaseGraph base(options.append);
  const EdgeList edges(options.edges);
  std::vector<fs::path> sources = edges.edge_files();
  for (const auto& more : {edges.value_files(), node_files(options)})
    sources.insert(sources.end(), more.begin(), more.end());
  const auto tick = [&] { progress("hashes", 0, 0); };
  const Json provenance = append_provenance(base, source_hashes(sources, tick).take(), options);
  sources.push_back(options.append);
  if (auto made = find_made(options, provenance, sources)) return *made;
  for (const auto& notes : {edges.notes(true), NodeTable(options.nodes).notes()})
    std::ranges::for_each(notes, options.note);
  return append_graph(options, base, edges, provenance, progress, files);
}

// Ingests inputs that can be read more than once.
GraphIngestResult ingest_files(const GraphIngestOptions& options, const GraphProgress& progress,
                               FileSystem& files) {
  const EdgeList edges(options.edges);
  std::vector<fs::path> sources = edges.edge_files();
  for (const auto& more : {edges.value_files(), node_files(options)})
    sources.insert(sources.end(), more.begin(), more.end());
  const auto tick = [&] { progress("hashes", 0, 0); };
  const Json provenance = make_provenance(source_hashes(sources, tick).take(), graph_options_json(options));
  if (auto made = find_made(options, provenance, sources)) return *made;
  const bool ids_are_given = options.ids != NodeIds::automatic;
  for (const auto& notes : {edges.notes(ids_are_given), NodeTable(options.nodes).notes()})
    std::ranges::for_each(notes, options.note);
  return build_graph(options, edges, nullptr, provenance, progress, files);
}

}  // namespace

GraphIngestResult ingest_graph(const GraphIngestOptions& options, const GraphProgress& progress,
                               FileSystem& files) {
  if (!options.shard.is_all()) return make_edge_shard(options, progress, files);
  Spool spool(options.out, files);
  GraphIngestOptions copied = options;
  NodeTableOptions& nodes = copied.nodes;
  const auto copy = [&](fs::path& path) {
    if (!path.empty()) spool.copy(path, [&] { progress("hashes", 0, 0); });
  };
  std::ranges::for_each(copied.edges.files, copy);
  std::ranges::for_each(copied.splits, copy);
  for (fs::path* const path : {&nodes.table, &nodes.feature_array, &nodes.label_array}) copy(*path);
  copied.note = [&](const std::string& note) { options.note(spool.shown(note)); };
  try {
    return options.append.empty() ? ingest_files(copied, progress, files)
                                  : append_files(copied, progress, files);
  } catch (const InputError& error) {
    throw InputError(spool.shown(error.what()));
  } catch (const UsageError& error) {
    throw UsageError(spool.shown(error.what()));
  }
}

Merged merge_graph(const MergeRequest& request) {
  const std::vector<ShardFolder> folders = open_shards(request.shards);
  const EdgeShards shards(folders);
  GraphIngestOptions options = shards.options();
  options.out = request.out;
  options.force = request.force;
  const EdgeList list(options.edges);
  const Json provenance =
      make_provenance(merged_sources(folders, list, options), graph_options_json(options));
  std::vector<fs::path> sources = request.shards;
  for (const auto& more : {list.value_files(), node_files(options)})
    sources.insert(sources.end(), more.begin(), more.end());
  Merged merged{.kind = "graph"};
  if (const auto made = find_made(options, provenance, sources)) {
    merged.already_there = true;
    return merged;
  }
  merged.bytes = shards.bytes();
  const int64_t all = 2 * merged.bytes;
  shards.check([&](int64_t done) { request.progress(done, all); });
  const auto progress = [&](const char* /*what*/, int64_t edges, int64_t total) {
    const double share = static_cast<double>(edges) / static_cast<double>(std::max<int64_t>(total, 1));
    request.progress(merged.bytes + static_cast<int64_t>(static_cast<double>(merged.bytes) * share), all);
  };
  merged.rows = build_graph(options, list, &shards, provenance, progress, request.files).edges;
  return merged;
}

}  // namespace plimsoll
