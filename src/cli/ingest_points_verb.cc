#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/verbs.h"
#include "ingest/points/points.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct IngestPointsVerbOptions {
  PointsOptions points;
  Resources resources;
  bool json = false;
};

void run(const IngestPointsVerbOptions& options) {
  const Stopwatch watch;
  Budget budget(options.resources, 256 * kMiB);
  PointsResult result;
  {
    Progress progress("ingest", "graphs");
    const auto report = until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); });
    result = stopped_in_order([&] { return ingest_points(options.points, report); });
  }
  const double seconds = watch.seconds();
  print_made({.out = options.points.out,
              .already_there = result.already_there,
              .counts = {{"graphs", result.graphs},
                         {"nodes", result.nodes},
                         {"edges", result.edges},
                         {"classes", result.classes},
                         {"targets", result.targets},
                         {"node_features", result.node_features},
                         {"source_bytes", result.source_bytes}},
              .text = fmt::format("{} graphs, {} points with {} features, {} edges, {} classes{}",
                                  format_count(result.graphs), format_count(result.nodes),
                                  result.node_features, format_count(result.edges), result.classes,
                                  result.targets > 0 ? fmt::format(", {} targets", result.targets) : ""),
              .from = "source",
              .remarks = "",
              .took = format_seconds(seconds)},
             seconds, budget, options.json);
}

}  // namespace

void add_ingest_points(CLI::App& ingest) {
  auto options = std::make_shared<IngestPointsVerbOptions>();
  CLI::App* points =
      ingest.add_subcommand("points", "Convert point sets to a graph_set of k-nearest-neighbour graphs");
  points
      ->add_option("SRC", options->points.source,
                   "A .npy array [sets, points, numbers], or a text table with the columns graph, x, y, z, "
                   "label and features")
      ->required();
  points->add_option("--out", options->points.out, "Write the graph_set to this folder")
      ->required()
      ->type_name("DIR");
  points
      ->add_option("--knn", options->points.neighbours,
                   "Add an edge into each point from each of its K nearest neighbours")
      ->capture_default_str()
      ->type_name("K");
  points
      ->add_option("--dims", options->points.dimensions,
                   "Use this number of coordinates per point in an array, 2 or 3; default: 3, or 2 if points "
                   "have only two numbers")
      ->check(CLI::Range(2, 3));
  points
      ->add_option("--labels", options->points.labels,
                   "Read the class of each set from a .npy file, or from a text file with one line per set")
      ->type_name("FILE");
  points
      ->add_option("--targets", options->points.targets,
                   "Read the numbers to predict for each set from a .npy file, or from a text file with one "
                   "line per set")
      ->type_name("FILE");
  points->add_flag("--force", options->points.force, "Replace an existing output");
  points->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*points);
  points->footer("Example: plimsoll ingest points points.csv --knn 8 --out graphs");
  points->callback([options] { run(*options); });
}

}  // namespace plimsoll
