#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/number_checks.h"
#include "cli/verbs.h"
#include "ingest/graph/simulate_graph.h"
#include "telemetry/counted.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct SimulateGraphVerbOptions {
  GraphSimulation graph;
  Resources resources;
  bool json = false;
};

void run(SimulateGraphVerbOptions& options) {
  const Stopwatch watch;
  options.graph.threads = options.resources.thread_count();
  Budget budget(options.resources, 256 * kMiB);
  GraphSimulationResult result;
  {
    Progress progress("simulate", "nodes");
    result = simulate_graph(
        options.graph, until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); }));
  }
  const double seconds = watch.seconds();
  print_made({.out = options.graph.out,
              .already_there = result.already_there,
              .counts = {{"nodes", result.nodes}, {"edges", result.edges}},
              .text = fmt::format("{} with {}, {}, {}", counted(result.nodes, "node"),
                                  counted(options.graph.features, "feature"), counted(result.edges, "edge"),
                                  counted(options.graph.classes, "class")),
              .from = "options",
              .remarks = "",
              .took = format_seconds(seconds)},
             seconds, budget, options.json);
}

}  // namespace

void add_simulate_graph(CLI::App& simulate) {
  auto options = std::make_shared<SimulateGraphVerbOptions>();
  GraphSimulation& made = options->graph;
  CLI::App* graph =
      simulate.add_subcommand("graph", "Simulate one graph of any size, with communities and hubs");
  graph->add_option("--nodes", made.nodes, "Simulate this number of nodes")
      ->required()
      ->check(at_least(1))
      ->type_name("N");
  graph->add_option("--degree", made.degree, "Aim for this mean degree")
      ->type_name("D")
      ->capture_default_str();
  graph->add_option("--features", made.features, "Simulate this number of features per node")
      ->type_name("F")
      ->capture_default_str();
  graph
      ->add_option("--features-dtype", made.features_dtype,
                   "Store features in this type: auto or f32 (unchanged), or f16, bf16 or i8 (rounded)")
      ->check(CLI::IsMember({"auto", "f32", "f16", "bf16", "i8"}))
      ->capture_default_str();
  graph->add_option("--classes", made.classes, "Simulate this number of communities; each is a class")
      ->type_name("C")
      ->capture_default_str();
  graph->add_option("--out", made.out, "Write the graph to this folder")->required()->type_name("DIR");
  graph->add_option("--seed", made.seed, "Use this random seed")->capture_default_str();
  graph->add_flag("--force", made.force, "Replace an existing output");
  graph->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*graph);
  options->resources.add_threads(*graph);
  graph->footer(
      "Example: plimsoll simulate graph --nodes 5000000 --degree 20 --features 128 --classes 16 --out graph");
  graph->callback([options] { run(*options); });
}

}  // namespace plimsoll
