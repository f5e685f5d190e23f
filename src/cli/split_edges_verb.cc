#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/verbs.h"
#include "ingest/graph/split_edges.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct SplitEdgesVerbOptions {
  EdgeSplitOptions split;
  Resources resources;
  bool json = false;
};

void run(SplitEdgesVerbOptions& options) {
  const Stopwatch watch;
  Budget budget(options.resources, 256 * kMiB);
  EdgeSplitResult result;
  {
    Progress progress("split", "edges");
    result = split_edges(options.split,
                         until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); }));
  }
  const double seconds = watch.seconds();
  Json counts = {{"nodes", result.nodes},
                 {"edges", result.edges},
                 {"train_edges", result.pairs[0]},
                 {"valid_edges", result.pairs[1]},
                 {"test_edges", result.pairs[2]}};
  if (!result.already_there) counts["undirected"] = result.undirected;
  print_made({.out = options.split.out,
              .already_there = result.already_there,
              .counts = std::move(counts),
              .text = fmt::format(
                  "{} nodes, {} edges kept; to predict: {} for training, {} for validation, {} for testing",
                  format_count(result.nodes), format_count(result.edges), format_count(result.pairs[0]),
                  format_count(result.pairs[1]), format_count(result.pairs[2])),
              .from = "options",
              .remarks = result.undirected ? "every edge exists in both directions: each pair is held out in "
                                             "both directions and predicted once\n"
                                           : "edges are directed: each edge is predicted separately and held "
                                             "out together with its reverse\n",
              .took = format_seconds(seconds)},
             seconds, budget, options.json);
}

}  // namespace

void add_split_edges(CLI::App& app) {
  auto options = std::make_shared<SplitEdgesVerbOptions>();
  EdgeSplitOptions& split = options->split;
  CLI::App* verb = app.add_subcommand("split-edges", "Hold out edges of a graph for link prediction");
  verb->add_option("graph", split.graph, "The folder of a graph that `plimsoll ingest graph` made")
      ->required()
      ->type_name("GRAPH");
  verb->add_option("--out", split.out, "Write the graph without the held-out edges to this folder")
      ->required()
      ->type_name("DIR");
  verb->add_option("--valid", split.valid, "Hold out this fraction of the edges for validation")
      ->type_name("SHARE")
      ->capture_default_str();
  verb->add_option("--test", split.test, "Hold out this fraction of the edges for testing")
      ->type_name("SHARE")
      ->capture_default_str();
  verb->add_option("--train", split.train, "Use this fraction of the remaining edges as targets for training")
      ->type_name("SHARE")
      ->capture_default_str();
  verb->add_option("--seed", split.seed, "Use this random seed")->capture_default_str();
  verb->add_flag("--force", split.force, "Replace an existing output");
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*verb);
  verb->footer("Example: plimsoll split-edges graph --out split --valid 0.05 --test 0.05");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
