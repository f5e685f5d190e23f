#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/number_text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/verbs.h"
#include "ingest/swc/swc.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct IngestSwcVerbOptions {
  SwcOptions swc;
  std::string step, root = "soma", forest = "pick", on_error = "fail";
  Resources resources;
  bool json = false;
};

// Parses a length such as "10um" or "10".
double step_of(std::string text) {
  if (text.ends_with("um")) text.resize(text.size() - 2);
  const std::optional<double> step = parse_number<double>(text);
  if (!step || !(*step > 0) || *step > 1e9)
    throw UsageError(fmt::format("--resample is '{}', expected a length above 0, such as 10um", text));
  return *step;
}

void print(const SwcResult& result, const IngestSwcVerbOptions& options, double seconds, Budget& budget) {
  const SwcChanges& changes = result.changes;
  std::string remarks =
      fmt::format("{} files with {} points\n", format_count(result.files), format_count(result.points));
  const auto count = [&](int64_t number, const char* what) {
    if (number > 0) remarks += fmt::format("{} {}\n", format_count(number), what);
  };
  count(changes.soma_points, "soma points merged into one node per soma");
  count(changes.rerooted, "trees rerooted at their soma");
  count(changes.without_soma, "trees without a soma keep the root that the file gives");
  count(changes.dropped_points,
        "points left out, because they belong to further trees of a file (--forest split keeps them)");
  count(result.skipped_files, "files skipped");
  count(result.skipped_labels, "labels skipped, because no file has their name");
  print_made(
      {.out = options.swc.out,
       .already_there = result.already_there,
       .counts = {{"files", result.files},
                  {"graphs", result.graphs},
                  {"points", result.points},
                  {"nodes", result.nodes},
                  {"edges", result.edges},
                  {"classes", result.classes},
                  {"skipped_files", result.skipped_files},
                  {"skipped_labels", result.skipped_labels},
                  {"dropped_points", changes.dropped_points},
                  {"soma_points", changes.soma_points},
                  {"rerooted", changes.rerooted},
                  {"without_soma", changes.without_soma},
                  {"source_bytes", result.source_bytes}},
       .text = fmt::format("{} trees of {} classes, {} nodes, {} edges", format_count(result.graphs),
                           result.classes.size(), format_count(result.nodes), format_count(result.edges)),
       .from = "source",
       .remarks = std::move(remarks),
       .took = format_seconds(seconds)},
      seconds, budget, options.json);
}

void run(IngestSwcVerbOptions& options) {
  const Stopwatch watch;
  if (!options.step.empty()) options.swc.step = step_of(options.step);
  options.swc.tree.root_at_soma = options.root == "soma";
  options.swc.tree.split = options.forest == "split";
  options.swc.skip_errors = options.on_error == "skip";
  Budget budget(options.resources, 256 * kMiB);
  SwcResult result;
  {
    Progress progress("ingest", "trees");
    result = ingest_swc(options.swc,
                        until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); }),
                        [](const std::string& text) { fmt::print(stderr, "skipped: {}\n", text); });
  }
  print(result, options, watch.seconds(), budget);
}

}  // namespace

void add_ingest_swc(CLI::App& ingest) {
  auto options = std::make_shared<IngestSwcVerbOptions>();
  CLI::App* swc = ingest.add_subcommand("swc", "Convert neuron trees in SWC files to a graph_set");
  swc->add_option("SRC", options->swc.sources,
                  "Folders, archives (.tar, .tar.zst, .tar.gz, .zip) or SWC files")
      ->required();
  swc->add_option("--out", options->swc.out, "Write the graph_set to this folder")
      ->required()
      ->type_name("DIR");
  swc->add_option("--labels", options->swc.labels,
                  "Read the class of each tree from a table with the columns file and label")
      ->type_name("FILE");
  swc->add_option("--resample", options->step,
                  "Resample branches at equal steps of at most this length in the unit of the files, such as "
                  "10um")
      ->type_name("LENGTH");
  swc->add_option("--node-features", options->swc.features,
                  "Use these node features, from radius, children, depth and type")
      ->delimiter(',')
      ->capture_default_str();
  swc->add_option(
         "--root", options->root,
         "Use this node as the root: the soma if there is one (soma), or the first root in the file (first)")
      ->check(CLI::IsMember({"soma", "first"}))
      ->capture_default_str();
  swc->add_option("--forest", options->forest,
                  "In a file with several trees, keep only the tree with the soma, else the largest (pick), "
                  "or make one graph per tree (split)")
      ->check(CLI::IsMember({"pick", "split"}))
      ->capture_default_str();
  swc->add_option("--on-error", options->on_error, "Handle invalid files: fail, or skip and count them")
      ->check(CLI::IsMember({"fail", "skip"}))
      ->capture_default_str();
  swc->add_flag("--force", options->swc.force, "Replace an existing output");
  swc->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*swc);
  swc->footer("Example: plimsoll ingest swc neurons.tar.zst --labels labels.tsv --resample 10um --out trees");
  swc->callback([options] { run(*options); });
}

}  // namespace plimsoll
