#include "ingest/points/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "base/error.h"
#include "ingest/points/nearest.h"
#include "ingest/points/point_source.h"
#include "ingest/points/set_answers.h"
#include "ingest/text/source_hashes.h"
#include "store/graph_set.h"
#include "store/output.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const PointsOptions& options) {
  std::vector<fs::path> files = {options.source};
  for (const fs::path& path : {options.labels, options.targets})
    if (!path.empty()) files.push_back(path);
  return files;
}

Json words_of(const PointsOptions& options) {
  return {{"format", "points"},
          {"knn", options.neighbours},
          {"dims", options.dimensions},
          {"labels", options.labels.filename().string()},
          {"targets", options.targets.filename().string()}};
}

PointsResult found_in(const GraphSetView& view, int64_t source_bytes) {
  const GraphSpans& graphs = view.graphs();
  return {.already_there = true,
          .graphs = graphs.graphs(),
          .nodes = graphs.node_ptr.back(),
          .edges = graphs.edge_ptr.back(),
          .classes = graphs.y.empty() ? 0 : *std::ranges::max_element(graphs.y) + 1,
          .targets = view.targets().graph,
          .node_features = view.node_features(),
          .source_bytes = source_bytes};
}

}  // namespace

PointsResult ingest_points(const PointsOptions& options,
                           const std::function<void(int64_t, int64_t)>& progress) {
  if (options.neighbours < 1 || options.neighbours > 65535)
    throw UsageError(fmt::format("--knn is {}, expected 1 to 65535", options.neighbours));
  for (const fs::path& file : files_of(options))
    if (fs::is_directory(file))
      throw InputError(fmt::format("{}: is a folder, expected a file: NAME.npy or a text", file.string()));
  PointsResult result;
  const Json sources = source_hashes(files_of(options)).take();
  for (const Json& entry : sources) result.source_bytes += entry["bytes"].get<int64_t>();
  const Json provenance = make_provenance(sources, words_of(options));
  if (is_made_already(options.out, options.force, provenance, files_of(options)))
    return found_in(GraphSetView(options.out), result.source_bytes);

  const auto source = PointSource::open(options.source, options.dimensions);
  std::optional<SetAnswers> labels;
  std::optional<SetAnswers> targets;
  if (!options.labels.empty()) labels = SetAnswers::classes(options.labels);
  if (!options.targets.empty()) targets = SetAnswers::numbers(options.targets);
  GraphSetTables tables;
  tables.node_features = source->features();
  const bool constant = tables.node_features.empty();
  if (constant) tables.node_features = {"constant"};
  result.node_features = static_cast<int64_t>(tables.node_features.size());
  result.targets = targets ? targets->width() : 0;

  GraphSetWriter writer(options.out, options.force, result.node_features, 0, {.graph = result.targets});
  PointSet set;
  Vector<int32_t, Tag::ingest> edges;
  Vector<float, Tag::ingest> target;
  for (; source->next(set); ++result.graphs) {
    if (set.points() > std::numeric_limits<int32_t>::max())
      throw InputError(fmt::format("{}: set {} has {} points, more than 2^31 - 1", options.source.string(),
                                   result.graphs, set.points()));
    if (constant) set.features.assign(static_cast<size_t>(set.points()), 1.0F);
    nearest_neighbours(set.pos, options.neighbours, edges);
    const int64_t y = labels ? labels->next_class() : set.label;
    if (targets) targets->next_numbers(target);
    const std::array node_ptr{int64_t{0}, set.points()};
    const std::array edge_ptr{int64_t{0}, static_cast<int64_t>(edges.size() / 2)};
    writer.append({.node_ptr = node_ptr,
                   .edge_ptr = edge_ptr,
                   .x = set.features,
                   .edges = edges,
                   .edge_attr = {},
                   .y = std::span(&y, 1),
                   .target = target,
                   .pos = set.pos});
    result.nodes += set.points();
    result.edges += edge_ptr[1];
    result.classes = std::max(result.classes, y + 1);
    progress(result.graphs + 1, source->sets());
  }
  if (result.graphs == 0)
    throw InputError(
        fmt::format("{}: contains no point sets, expected at least one", options.source.string()));
  if (labels) labels->require_end(result.graphs);
  if (targets) targets->require_end(result.graphs);
  tables.splits = {
      {.name = "all", .split = "", .first_graph = 0, .graphs = result.graphs, .attack = {}, .copy_of = {}}};
  writer.publish(tables, provenance);
  return result;
}

}  // namespace plimsoll
