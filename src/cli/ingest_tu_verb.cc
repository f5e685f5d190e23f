#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/verbs.h"
#include "ingest/tu/tu.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct Options {
  TuOptions tu;
  Resources resources;
  bool json = false;
};

void run(const Options& options) {
  const Stopwatch watch;
  Budget budget(options.resources, 256 * kMiB);
  TuResult result;
  {
    Progress progress("ingest", "graphs");
    result = ingest_tu(options.tu,
                       until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); }));
  }
  const std::string out = options.tu.out.string();
  const double seconds = watch.seconds();
  if (options.json) {
    const Json summary = {{"out", out},
                          {"already_there", result.already_there},
                          {"graphs", result.graphs},
                          {"nodes", result.nodes},
                          {"edges", result.edges},
                          {"classes", result.classes},
                          {"targets", result.targets},
                          {"node_features", result.node_features},
                          {"edge_features", result.edge_features},
                          {"source_bytes", result.source_bytes},
                          {"seconds", seconds},
                          {"memory", budget.report_json()}};
    fmt::print("{}\n", summary.dump());
    return;
  }
  fmt::print("{}: {} graphs, {} nodes with {} features, {} edges with {}, {} classes{}\n", out,
             format_count(result.graphs), format_count(result.nodes), result.node_features,
             format_count(result.edges), result.edge_features, result.classes,
             result.targets > 0 ? fmt::format(", {} targets", result.targets) : "");
  if (result.already_there) {
    fmt::print("already there from the same source: nothing done\n");
    return;
  }
  fmt::print("{}\n{}\n", format_seconds(seconds), budget.report());
}

}  // namespace

void add_ingest_tu(CLI::App& ingest) {
  auto options = std::make_shared<Options>();
  const auto words = [](std::vector<std::string> allowed) { return CLI::IsMember(std::move(allowed)); };
  CLI::App* tu = ingest.add_subcommand(
      "tu", "A data set for graph classification or regression in TU format, to a graph_set");
  tu->add_option("SRC", options->tu.source, "NAME.zip, a folder with NAME_A.txt and its like, or NAME.txt")
      ->required();
  tu->add_option("--out", options->tu.out, "The graph_set to make")->required()->type_name("DIR");
  tu->add_option(
        "--node-features", options->tu.node_features,
        "auto (attributes and labels, or degree where there are none), labels, attributes, degree or "
        "constant")
      ->check(words({"auto", "labels", "attributes", "degree", "constant"}))
      ->capture_default_str();
  tu->add_option("--target", options->tu.target,
                 "graph; or node: node labels are not features but classes, in the column node_y")
      ->check(words({"graph", "node"}))
      ->capture_default_str();
  tu->add_option(
        "--positions", options->tu.positions,
        "Two or three node attributes, counted from 0, that are not features but where the node lies")
      ->delimiter(',')
      ->type_name("COLUMN,...");
  tu->add_flag("--force", options->tu.force, "Replace an existing output");
  tu->add_flag("--json", options->json, "The summary as JSON");
  options->resources.add_budget(*tu);
  tu->footer(
      "Example: plimsoll ingest tu MUTAG.zip --out mutag\n         plimsoll ingest tu BZR.zip --positions "
      "0,1,2 --out bzr");
  tu->callback([options] { run(*options); });
}

}  // namespace plimsoll
