#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "base/units.h"
#include "bindings.h"
#include "ingest/graph/graph.h"
#include "ingest/graph/split_edges.h"
#include "ingest/simulate/simulate_graph.h"
#include "memory/budget_scope.h"
#include "watched.h"

namespace plimsoll {
namespace {

// The verbs of the command line that make one giant graph, with its default budgets.

void make_graph(const GraphIngestOptions& options, const std::string& budget, const nb::object& progress) {
  const BudgetScope scope(budget, 256 * kMiB);
  run_watched(progress, [&](const Progress& note) {
    ingest_graph(options, [&](const char* /*what*/, int64_t done, int64_t total) { note(done, total); });
  });
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

}  // namespace

void bind_graph_making(nb::module_& module) {
  nb::class_<EdgeListOptions>(module, "EdgeListOptions")
      .def_rw("files", &EdgeListOptions::files)
      .def_rw("source", &EdgeListOptions::source)
      .def_rw("target", &EdgeListOptions::target)
      .def_rw("weight", &EdgeListOptions::weight)
      .def_rw("features", &EdgeListOptions::features)
      .def_rw("header", &EdgeListOptions::header);
  nb::class_<NodeTableOptions>(module, "NodeTableOptions")
      .def_rw("table", &NodeTableOptions::table)
      .def_rw("id", &NodeTableOptions::id)
      .def_rw("label", &NodeTableOptions::label)
      .def_rw("split", &NodeTableOptions::split)
      .def_rw("features", &NodeTableOptions::features)
      .def_rw("unlabelled", &NodeTableOptions::unlabelled)
      .def_rw("feature_array", &NodeTableOptions::feature_array)
      .def_rw("label_array", &NodeTableOptions::label_array);
  nb::class_<GraphIngestOptions>(module, "GraphOptions")
      .def(nb::init<>())
      .def_rw("edges", &GraphIngestOptions::edges)
      .def_rw("nodes", &GraphIngestOptions::nodes)
      .def_rw("splits", &GraphIngestOptions::splits)
      .def_rw("node_count", &GraphIngestOptions::node_count)
      .def_rw("ids", &GraphIngestOptions::ids)
      .def_rw("direction", &GraphIngestOptions::direction)
      .def_rw("undirected", &GraphIngestOptions::undirected)
      .def_rw("dedup", &GraphIngestOptions::dedup)
      .def_rw("self_loops", &GraphIngestOptions::self_loops)
      .def_rw("order", &GraphIngestOptions::order)
      .def_rw("out", &GraphIngestOptions::out)
      .def_rw("threads", &GraphIngestOptions::threads)
      .def_rw("force", &GraphIngestOptions::force);
  nb::class_<GraphSimulation>(module, "GraphSimulation")
      .def(nb::init<>())
      .def_rw("nodes", &GraphSimulation::nodes)
      .def_rw("degree", &GraphSimulation::degree)
      .def_rw("features", &GraphSimulation::features)
      .def_rw("classes", &GraphSimulation::classes)
      .def_rw("seed", &GraphSimulation::seed)
      .def_rw("out", &GraphSimulation::out)
      .def_rw("threads", &GraphSimulation::threads)
      .def_rw("force", &GraphSimulation::force);
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
  const auto define = [&](const char* name, auto function) {
    module.def(name, function, nb::arg("options"), nb::arg("budget"), nb::arg("progress").none());
  };
  define("make_graph", make_graph);
  define("make_communities", make_communities);
  define("make_edge_split", make_edge_split);
}

}  // namespace plimsoll
