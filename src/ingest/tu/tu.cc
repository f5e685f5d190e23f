#include "ingest/tu/tu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "ingest/tu/tu_node_features.h"
#include "ingest/tu/tu_source.h"
#include "store/graph_set.h"
#include "store/output.h"

namespace plimsoll {
namespace {

Json options_json(const TuOptions& options) {
  Json json = {{"format", "tu"}, {"node_features", options.node_features}, {"target", options.target}};
  if (!options.positions.empty()) json["positions"] = options.positions;
  return json;
}

TuLabels labels_of(const TuGraphs& graphs, const TuSource& source) {
  TuLabels labels(source.path());
  for (const int32_t label : graphs.label) labels.add(label);
  return labels;
}

// The node labels as classes.
const TuLabels& node_classes(const TuNodeTable& table, const TuSource& source) {
  if (table.columns.size() != 1)
    throw InputError(fmt::format("{}: found {} labels of a node, expected one for --target node",
                                 source.path(), table.columns.size()));
  return table.columns[0];
}

TuResult result_of(const GraphSetView& view, int64_t source_bytes, const std::string& target) {
  const GraphSpans& graphs = view.graphs();
  const std::span<const int64_t> classes = target == "node" ? graphs.node_y : graphs.y;
  return {.already_there = true,
          .graphs = graphs.graphs(),
          .nodes = graphs.node_ptr.back(),
          .edges = graphs.edge_ptr.back(),
          .classes = classes.empty() ? 0 : *std::max_element(classes.begin(), classes.end()) + 1,
          .targets = view.targets().graph,
          .node_features = view.node_features(),
          .edge_features = view.edge_features(),
          .source_bytes = source_bytes};
}

// The columns of one graph.
struct Graph {
  std::array<int64_t, 2> edge_ptr{};
  Vector<float, Tag::ingest> x;
  Vector<int32_t, Tag::ingest> edges;
  Vector<float, Tag::ingest> edge_attr;
  Vector<int64_t, Tag::ingest> node_y;
  Vector<float, Tag::ingest> pos;
};

size_t product(int64_t rows, int64_t width, const TuSource& source) {
  int64_t result = 0;
  if (__builtin_mul_overflow(rows, width, &result))
    throw InputError(source.path() + ": a graph's features are too many; choose other --node-features");
  return static_cast<size_t>(result);
}

}  // namespace

TuResult ingest_tu(const TuOptions& options, const std::function<void(int64_t, int64_t)>& progress) {
  const auto source = TuSource::open(options.source);
  TuResult result;
  result.source_bytes = source->bytes();
  const Json provenance = make_provenance(source->sources(), options_json(options));
  if (is_made_already(options.out, options.force, provenance, {options.source}))
    return result_of(GraphSetView(options.out), result.source_bytes, options.target);

  const TuGraphs graphs = source->graphs();
  const TuLabels classes = labels_of(graphs, *source);
  TuArcs arcs = source->arcs(graphs);
  const TuNodeTable table = TuNodeTable::scan(*source, graphs);
  require_positions(options.positions, table);
  const TuNodeFeatures node_features(options, table, *source, graphs, arcs);
  std::vector<int64_t> edge_attributes(static_cast<size_t>(arcs.attributes()));
  std::iota(edge_attributes.begin(), edge_attributes.end(), int64_t{0});
  const TuFeatures edge_features(std::move(edge_attributes), arcs.columns());
  const TuLabels* const targets = options.target == "node" ? &node_classes(table, *source) : nullptr;

  GraphSetWriter writer(options.out, options.force, node_features.width(), edge_features.width(),
                        {.graph = graphs.width()});
  const auto nodes = source->nodes(graphs);
  TuRow row;
  Graph graph;
  Vector<int32_t, Tag::ingest> degrees;
  for (size_t g = 0; g + 1 < graphs.node_ptr.size(); ++g) {
    const int64_t first = graphs.node_ptr[g];
    const int64_t count = graphs.node_ptr[g + 1] - first;
    arcs.take(first, first + count, edge_features, graph.edges, graph.edge_attr);
    if (node_features.needs_degrees()) count_in_degrees(graph.edges, count, degrees);
    graph.x.assign(product(count, node_features.width(), *source), 0);
    graph.node_y.clear();
    graph.pos.clear();
    for (int64_t i = 0; i < count; ++i) {
      nodes->next(row);
      node_features.add(row, node_features.needs_degrees() ? degrees[static_cast<size_t>(i)] : 0,
                        graph.x.data() + i * node_features.width());
      if (targets != nullptr) graph.node_y.push_back(targets->rank(row.labels[0]));
      if (options.positions.empty()) continue;
      for (const int64_t at : options.positions) graph.pos.push_back(row.attributes[static_cast<size_t>(at)]);
      graph.pos.resize(static_cast<size_t>(kCoordinates * (i + 1)), 0.0F);  // of two coordinates z is 0
    }
    graph.edge_ptr[1] = static_cast<int64_t>(graph.edges.size() / 2);
    const int64_t y = graphs.label.empty() ? -1 : classes.rank(graphs.label[g]);
    const auto width = static_cast<size_t>(graphs.width());
    writer.append({.node_ptr = std::span(graphs.node_ptr).subspan(g, 2),
                   .edge_ptr = graph.edge_ptr,
                   .x = graph.x,
                   .edges = graph.edges,
                   .edge_attr = graph.edge_attr,
                   .y = std::span(&y, 1),
                   .node_y = graph.node_y,
                   .target = std::span(graphs.attributes).subspan(g * width, width),
                   .pos = graph.pos});
    result.edges += graph.edge_ptr[1];
    progress(static_cast<int64_t>(g) + 1, graphs.graphs());
  }
  GraphSetTables tables;
  tables.splits = {
      {.name = "all", .split = "", .first_graph = 0, .graphs = graphs.graphs(), .attack = {}, .copy_of = {}}};
  tables.node_features = node_features.names();
  tables.edge_features = edge_features.names();
  writer.publish(tables, provenance);

  result.graphs = graphs.graphs();
  result.nodes = graphs.nodes();
  result.classes = static_cast<int64_t>((targets != nullptr ? *targets : classes).values().size());
  result.targets = graphs.width();
  result.node_features = node_features.width();
  result.edge_features = edge_features.width();
  return result;
}

}  // namespace plimsoll
