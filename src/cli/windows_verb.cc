#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/verbs.h"
#include "ingest/windows.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct Options {
  std::string frames;
  std::string out;
  WindowOptions windows;
  Resources resources;
  bool force = false;
  bool json = false;
};

Json provenance_of(const FramesView& frames, const WindowOptions& windows) {
  Json columns = Json::object();
  for (const auto& [name, entry] : frames.set().manifest()["columns"].items()) columns[name] = entry["xxh3"];
  return make_provenance(
      {{{"kind", "frames"}, {"columns", columns}}},
      {{"features", windows.features}, {"window", windows.window}, {"stride", windows.stride}});
}

void run(const Options& options) {
  const Stopwatch watch;
  Budget budget(options.resources);
  const FramesView frames(options.frames);
  const auto source = open_windows(frames, options.windows);
  const Json provenance = provenance_of(frames, options.windows);
  const Existing existing = options.force ? Existing::none : find_existing(options.out, provenance);
  if (existing == Existing::other)
    throw Failure(options.out + " exists already and holds something else; give --force to replace it");
  if (existing == Existing::none) {
    Progress progress("windows", "graphs");
    write_graph_set(*source, options.out, options.force, provenance, options.resources.thread_count(),
                    [&](int64_t done, int64_t total) { progress.update(done, total); });
  }
  const double seconds = watch.seconds();
  if (options.json) {
    const Json summary = {{"out", options.out},
                          {"already_there", existing == Existing::same},
                          {"graphs", source->graphs()},
                          {"seconds", seconds},
                          {"memory", Json::parse(budget.report_json())}};
    fmt::print("{}\n", summary.dump());
    return;
  }
  fmt::print("{}: {} graphs\n", options.out, format_count(source->graphs()));
  if (existing == Existing::same) {
    fmt::print("already there from the same frames: nothing done\n");
    return;
  }
  fmt::print("{} ({} graphs/s)\n{}\n", format_seconds(seconds),
             format_count(static_cast<int64_t>(static_cast<double>(source->graphs()) / seconds)),
             budget.report());
}

}  // namespace

void add_windows(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("windows", "Cut frames into windows and write their graphs");
  verb->add_option("FRAMES", options->frames, "A data set of frames")->required();
  verb->add_option("--out", options->out, "The graph_set to make")->required()->type_name("DIR");
  verb->add_option("--features", options->windows.features,
                   "compat: the published KD-GAT graphs, bit for bit")
      ->capture_default_str();
  verb->add_option("--window", options->windows.window, "Frames a window")->capture_default_str();
  verb->add_option("--stride", options->windows.stride, "Frames from one window to the next")
      ->capture_default_str();
  verb->add_flag("--force", options->force, "Replace an existing output");
  verb->add_flag("--json", options->json, "The summary as JSON");
  options->resources.add_options(*verb);
  verb->footer("Example: plimsoll windows frames --out graphs --features compat");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
