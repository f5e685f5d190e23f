#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "bindings.h"
#include "ingest/append/base_graph.h"
#include "ingest/graph/graph.h"
#include "ingest/graph/graph_options.h"
#include "ingest/graph/simulate_graph.h"
#include "ingest/graph/split_edges.h"
#include "io/replaceable.h"
#include "memory/budget_scope.h"
#include "store/graph.h"
#include "watched.h"
#include "word_property.h"

namespace plimsoll {
namespace {

// The work of verbs that make one giant graph, with their default budgets.

// Returns notes about input that is read in a way that users may not expect. `given` has the command-line
// names of the options that the caller has set; an append inherits the others.
std::vector<std::string> make_graph(const GraphIngestOptions& options, const std::vector<std::string>& given,
                                    const std::string& budget, const nb::object& progress) {
  const BudgetScope scope(budget, 256 * kMiB);
  const auto is_given = [&](std::string_view option) {
    return std::ranges::find(given, option) != given.end();
  };
  GraphIngestOptions noted = options.append.empty() ? options : append_options(options, is_given);
  std::vector<std::string> notes;
  noted.note = [&](const std::string& text) { notes.push_back(text); };
  run_watched(progress, [&](const Progress& note) {
    ingest_graph(noted, [&](const char* /*what*/, int64_t done, int64_t total) { note(done, total); });
  });
  return notes;
}

void make_communities(const GraphSimulation& options, const std::string& budget, const nb::object& progress) {
  const BudgetScope scope(budget, 256 * kMiB);
  run_watched(progress, [&](const Progress& note) { simulate_graph(options, note); });
}

EdgeSplitResult make_edge_split(const EdgeSplitOptions& options, const std::string& budget,
                                const nb::object& progress) {
  const BudgetScope scope(budget, 256 * kMiB);
  EdgeSplitResult result;
  run_watched(progress, [&](const Progress& note) { result = split_edges(options, note); });
  return result;
}

template <typename T, int kAxes = 1>
using Array = std::optional<nb::ndarray<const T, nb::ndim<kAxes>, nb::c_contig, nb::device::cpu>>;

template <typename Array>
auto span_of(const Array& array) {
  return std::span(array->data(), array->size());
}

/// Columns of one graph, complete and in the order of the data set; absent ones are None.
struct GraphArrays {
  Array<int64_t> row_ends;  ///< [V] indptr without its first 0.
  Array<uint32_t> indices;
  Array<float> edge_weight;
  Array<float, 2> edge_attr;
  Array<int64_t> edge_id;
  Array<float, 2> x;
  Array<int64_t> y;
  std::array<Array<int64_t>, kGraphSplits.size()> splits;
  GraphTables tables;
};

void write_graph(const std::filesystem::path& folder, bool force, const GraphArrays& arrays,
                 const std::string& source, const std::string& budget) {
  const nb::gil_scoped_release released;
  const BudgetScope scope(budget, 256 * kMiB);
  require_free(folder, force, {});
  GraphWriter writer(folder, force);
  writer.append_row_ends(span_of(arrays.row_ends));
  writer.append_indices(span_of(arrays.indices));
  if (arrays.edge_weight) writer.append_edge_weight(span_of(arrays.edge_weight));
  if (arrays.edge_attr)
    writer.append_edge_attr(span_of(arrays.edge_attr), static_cast<int64_t>(arrays.edge_attr->shape(1)));
  if (arrays.edge_id) writer.append_edge_id(span_of(arrays.edge_id));
  if (arrays.x) writer.append_x(span_of(arrays.x), static_cast<int64_t>(arrays.x->shape(1)));
  if (arrays.y) writer.append_y(span_of(arrays.y));
  for (size_t split = 0; split < kGraphSplits.size(); ++split)
    if (arrays.splits[split]) writer.append_split(split, span_of(arrays.splits[split]));
  writer.publish(arrays.tables, make_provenance({{{"kind", source}}}, Json::object()));
}

void bind_graph_options(nb::module_& module) {
  nb::class_<EdgeListOptions> edges(module, "EdgeListOptions");
  edges.def_rw("files", &EdgeListOptions::files)
      .def_rw("source", &EdgeListOptions::source)
      .def_rw("target", &EdgeListOptions::target)
      .def_rw("weight", &EdgeListOptions::weight)
      .def_rw("features", &EdgeListOptions::features)
      .def_rw("header", &EdgeListOptions::header, nb::arg().none())
      .def_prop_rw(
          "layout",
          [](const EdgeListOptions& self) { return self.layout ? std::string(word_of(*self.layout)) : ""; },
          [](EdgeListOptions& self, const std::string& word) {
            self.layout.reset();
            if (!word.empty()) self.layout = parse_word<EdgeArrayLayout>(word, "layout");
          });
  def_word(edges, "comments", &EdgeListOptions::comments);
  nb::class_<NodeTableOptions>(module, "NodeTableOptions")
      .def_rw("table", &NodeTableOptions::table)
      .def_rw("header", &NodeTableOptions::header, nb::arg().none())
      .def_rw("missing", &NodeTableOptions::missing, nb::arg().none())
      .def_prop_rw(
          "feature_layout",
          [](const NodeTableOptions& self) {
            return std::pair(self.feature_layout.dtype, self.feature_layout.shape);
          },
          [](NodeTableOptions& self, std::pair<std::string, std::vector<int64_t>> layout) {
            if (layout.first.empty() != layout.second.empty())
              throw UsageError("dtype and shape describe a raw file of features together; give both");
            self.feature_layout = {std::move(layout.first), std::move(layout.second)};
          })
      .def_rw("id", &NodeTableOptions::id)
      .def_rw("label", &NodeTableOptions::label)
      .def_rw("split", &NodeTableOptions::split)
      .def_rw("features", &NodeTableOptions::features)
      .def_rw("unlabelled", &NodeTableOptions::unlabelled)
      .def_rw("feature_array", &NodeTableOptions::feature_array)
      .def_rw("link", &NodeTableOptions::link)
      .def_rw("label_array", &NodeTableOptions::label_array);
  nb::class_<GraphIngestOptions> graph(module, "GraphOptions");
  graph.def(nb::init<>())
      .def_rw("edges", &GraphIngestOptions::edges)
      .def_rw("nodes", &GraphIngestOptions::nodes)
      .def_rw("splits", &GraphIngestOptions::splits)
      .def_rw("node_count", &GraphIngestOptions::node_count)
      .def_rw("undirected", &GraphIngestOptions::undirected)
      .def_rw("dedup", &GraphIngestOptions::dedup)
      .def_rw("features_dtype", &GraphIngestOptions::features_dtype)
      .def_rw("append", &GraphIngestOptions::append)
      .def_rw("out", &GraphIngestOptions::out)
      .def_rw("threads", &GraphIngestOptions::threads)
      .def_rw("force", &GraphIngestOptions::force);
  def_word(graph, "ids", &GraphIngestOptions::ids);
  def_word(graph, "direction", &GraphIngestOptions::direction);
  def_word(graph, "self_loops", &GraphIngestOptions::self_loops);
  def_word(graph, "order", &GraphIngestOptions::order);
}

void bind_simulation_options(nb::module_& module) {
  nb::class_<GraphSimulation>(module, "GraphSimulation")
      .def(nb::init<>())
      .def_rw("nodes", &GraphSimulation::nodes)
      .def_rw("degree", &GraphSimulation::degree)
      .def_rw("features", &GraphSimulation::features)
      .def_rw("features_dtype", &GraphSimulation::features_dtype)
      .def_rw("classes", &GraphSimulation::classes)
      .def_rw("seed", &GraphSimulation::seed)
      .def_rw("out", &GraphSimulation::out)
      .def_rw("threads", &GraphSimulation::threads)
      .def_rw("force", &GraphSimulation::force);
}

void bind_edge_split(nb::module_& module) {
  nb::class_<EdgeSplitOptions>(module, "EdgeSplitOptions")
      .def(nb::init<>())
      .def_rw("graph", &EdgeSplitOptions::graph)
      .def_rw("out", &EdgeSplitOptions::out)
      .def_rw("valid", &EdgeSplitOptions::valid)
      .def_rw("test", &EdgeSplitOptions::test)
      .def_rw("train", &EdgeSplitOptions::train)
      .def_rw("seed", &EdgeSplitOptions::seed)
      .def_rw("force", &EdgeSplitOptions::force);
  nb::class_<EdgeSplitResult>(module, "EdgeSplitResult")
      .def_ro("already_there", &EdgeSplitResult::already_there)
      .def_ro("undirected", &EdgeSplitResult::undirected)
      .def_ro("nodes", &EdgeSplitResult::nodes)
      .def_ro("edges", &EdgeSplitResult::edges)
      .def_ro("pairs", &EdgeSplitResult::pairs);
}

void bind_graph_arrays(nb::module_& module) {
  nb::class_<GraphArrays>(module, "GraphArrays")
      .def(nb::init<>())
      .def_rw("row_ends", &GraphArrays::row_ends)
      .def_rw("indices", &GraphArrays::indices)
      .def_rw("edge_weight", &GraphArrays::edge_weight, nb::arg().none())
      .def_rw("edge_attr", &GraphArrays::edge_attr, nb::arg().none())
      .def_rw("edge_id", &GraphArrays::edge_id, nb::arg().none())
      .def_rw("x", &GraphArrays::x, nb::arg().none())
      .def_rw("y", &GraphArrays::y, nb::arg().none())
      .def_rw("splits", &GraphArrays::splits)
      .def_prop_rw(
          "classes", [](const GraphArrays& self) { return self.tables.classes; },
          [](GraphArrays& self, int64_t classes) { self.tables.classes = classes; })
      .def("set_features",
           [](GraphArrays& self, std::vector<std::string> node, std::vector<std::string> edge) {
             self.tables.node_features = std::move(node);
             self.tables.edge_features = std::move(edge);
           });
}

}  // namespace

void bind_graph_making(nb::module_& module) {
  bind_graph_options(module);
  bind_simulation_options(module);
  bind_edge_split(module);
  bind_graph_arrays(module);
  module.def("write_graph", write_graph, nb::arg("folder"), nb::arg("force"), nb::arg("arrays"),
             nb::arg("source"), nb::arg("budget"));
  const auto define = [&](const char* name, auto function) {
    module.def(name, function, nb::arg("options"), nb::arg("budget"), nb::arg("progress").none());
  };
  module.def("make_graph", make_graph, nb::arg("options"), nb::arg("given"), nb::arg("budget"),
             nb::arg("progress").none());
  define("make_communities", make_communities);
  define("make_edge_split", make_edge_split);
}

}  // namespace plimsoll
