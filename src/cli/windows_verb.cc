#include <fmt/format.h>

#include <algorithm>
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
  std::string window = "100";
  std::string stride;
  Resources resources;
  bool force = false;
  bool json = false;
};

Json provenance_of(const FramesView& frames, const WindowOptions& windows) {
  const auto length = [&](int64_t value) {
    return windows.unit == WindowUnit::frames ? Json(value) : Json(WindowLength{value, windows.unit}.text());
  };
  Json options = {
      {"features", windows.features}, {"window", length(windows.window)}, {"stride", length(windows.stride)}};
  if (windows.calibration.windows > 0) options["calibrate"] = windows.calibration.windows;
  if (!windows.learn_from.splits.empty()) options["vocabulary_from"] = windows.learn_from.splits;
  return make_provenance({frames.identity()}, std::move(options));
}

WindowOptions windows_of(const Options& options) {
  WindowOptions windows = options.windows;
  const WindowLength window = WindowLength::parse(options.window);
  // Windows by time lie end to end unless told otherwise.
  const WindowLength stride = !options.stride.empty()                  ? WindowLength::parse(options.stride)
                              : window.unit == WindowUnit::nanoseconds ? window
                                                                       : WindowLength{100, window.unit};
  if (window.unit != stride.unit)
    throw UsageError(fmt::format("--window {} and --stride {}: expected both as frames or both as time",
                                 options.window, options.stride));
  windows.window = window.value;
  windows.stride = stride.value;
  windows.unit = window.unit;
  std::sort(windows.learn_from.splits.begin(), windows.learn_from.splits.end());
  return windows;
}

void run(const Options& options) {
  const Stopwatch watch;
  Budget budget(options.resources);
  const WindowOptions windows = windows_of(options);
  const FramesView frames(options.frames);
  const auto source = open_windows(frames, windows);
  const Json provenance = provenance_of(frames, windows);
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
                          {"memory", budget.report_json()}};
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
                   "compat: the published KD-GAT graphs, bit for bit; behaviour: every frame, with time and "
                   "length")
      ->capture_default_str();
  verb->add_option("--window", options->window, "Frames a window, or time: 50ms (behaviour)")
      ->capture_default_str();
  verb->add_option("--stride", options->stride,
                   "From one window to the next: frames (default 100), or time (default: the window)");
  verb->add_option("--vocabulary-from", options->windows.learn_from.splits,
                   "Splits whose IDs are known; default: those whose names begin with train")
      ->type_name("SPLIT");
  verb->add_option("--calibrate", options->windows.calibration.windows,
                   "Compare each recording with so many benign windows of its own begin, a third of them at "
                   "most (behaviour)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("WINDOWS");
  verb->add_flag("--force", options->force, "Replace an existing output");
  verb->add_flag("--json", options->json, "The summary as JSON");
  options->resources.add_budget(*verb);
  options->resources.add_threads(*verb);
  verb->footer("Example: plimsoll windows frames --out graphs --features compat");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
