#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/verbs.h"
#include "sample/neighbour/make_walks.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct WalksVerbOptions {
  MakeWalksOptions make;
  Resources resources;
  bool json = false;
};

void run(WalksVerbOptions& options) {
  const Stopwatch watch;
  Budget budget(options.resources);
  options.make.threads = options.resources.thread_count();
  MadeWalks made;
  {
    Progress progress("walk", "walks");
    const auto report = until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); });
    made = stopped_in_order([&] { return make_walks(options.make, report); });
  }
  const double seconds = watch.seconds();
  const int64_t steps = made.walks * options.make.walks.length;
  Json counts = {{"walks", made.walks}, {"steps", steps}};
  if (!made.already_there) counts["in_memory"] = made.in_memory;
  print_made({.out = options.make.out,
              .already_there = made.already_there,
              .counts = std::move(counts),
              .text = fmt::format("{} walks of {} steps", format_count(made.walks),
                                  format_count(options.make.walks.length)),
              .from = "options",
              .remarks = made.already_there ? ""
                         : made.in_memory   ? "the topology was held in memory\n"
                                            : "the topology was read from disk\n",
              .took = fmt::format("{} ({})", format_seconds(seconds), format_rate(steps, seconds, "steps"))},
             seconds, budget, options.json);
}

}  // namespace

void add_walks(CLI::App& app) {
  auto options = std::make_shared<WalksVerbOptions>();
  MakeWalksOptions& make = options->make;
  CLI::App* verb =
      app.add_subcommand("walks", "Write random walks through a graph, uniform or biased as in node2vec");
  verb->add_option("graph", make.graph, "The folder of a graph that `plimsoll ingest graph` made")
      ->required()
      ->type_name("GRAPH");
  verb->add_option("--out", make.out, "Write the walks to this folder")->required()->type_name("DIR");
  verb->add_option("--length", make.walks.length, "Give each walk this number of steps")
      ->capture_default_str();
  verb->add_option("--walks", make.walks.walks_per_node, "Start this number of walks at each node")
      ->capture_default_str();
  verb->add_option("--p", make.walks.p,
                   "Set node2vec's return parameter: above 1, walks return to the previous node less often")
      ->capture_default_str();
  verb->add_option("--q", make.walks.q,
                   "Set node2vec's in-out parameter: above 1, walks stay nearer to their start")
      ->capture_default_str();
  verb->add_option("--seed", make.seed, "Use this random seed")->capture_default_str();
  verb->add_flag("--force", make.force, "Replace an existing output");
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*verb);
  options->resources.add_threads(*verb);
  verb->footer("Example: plimsoll walks graph --length 80 --walks 10 --q 0.5 --out walks");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
