#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/verbs.h"
#include "ingest/tu/tu.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct IngestTuVerbOptions {
  TuOptions tu;
  Resources resources;
  bool json = false;
};

void run(const IngestTuVerbOptions& options) {
  const Stopwatch watch;
  Budget budget(options.resources, 256 * kMiB);
  TuResult result;
  {
    Progress progress("ingest", "graphs");
    result = ingest_tu(options.tu,
                       until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); }));
  }
  const double seconds = watch.seconds();
  print_made(
      {.out = options.tu.out,
       .already_there = result.already_there,
       .counts = {{"graphs", result.graphs},
                  {"nodes", result.nodes},
                  {"edges", result.edges},
                  {"classes", result.classes},
                  {"targets", result.targets},
                  {"node_features", result.node_features},
                  {"edge_features", result.edge_features},
                  {"source_bytes", result.source_bytes}},
       .text = fmt::format("{} graphs, {} nodes with {} features, {} edges with {}, {} classes{}",
                           format_count(result.graphs), format_count(result.nodes), result.node_features,
                           format_count(result.edges), result.edge_features, result.classes,
                           result.targets > 0 ? fmt::format(", {} targets", result.targets) : ""),
       .from = "source",
       .remarks = "",
       .took = format_seconds(seconds)},
      seconds, budget, options.json);
}

}  // namespace

void add_ingest_tu(CLI::App& ingest) {
  auto options = std::make_shared<IngestTuVerbOptions>();
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
