#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "can/windows/windows_set.h"
#include "cli/can/can_verbs.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/number_checks.h"
#include "cli/word_option.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct WindowsVerbOptions {
  WindowsSetOptions windows;
  std::string window = "100";
  std::string stride;
  std::string shard = "1/1";
  Resources resources;
  bool json = false;
};

void run(WindowsVerbOptions& options) {
  const Stopwatch watch;
  Budget budget(options.resources);
  WindowsSetOptions& windows = options.windows;
  windows.set_lengths(options.window, options.stride);
  windows.shard = Shard::parse(options.shard);
  windows.threads = options.resources.thread_count();
  WindowsSetResult result;
  {
    Progress progress("windows", "graphs");
    result = make_windows_set(
        windows, until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); }));
  }
  const double seconds = watch.seconds();
  print_made({.out = windows.out,
              .already_there = result.already_there,
              .counts = {{"graphs", result.graphs}},
              .text = fmt::format("{} graphs", format_count(result.graphs)),
              .from = "frames",
              .remarks = "",
              .took = fmt::format("{} ({})", format_seconds(seconds),
                                  format_rate(result.graphs, seconds, "graphs"))},
             seconds, budget, options.json);
}

}  // namespace

void add_windows(CLI::App& app) {
  auto options = std::make_shared<WindowsVerbOptions>();
  CLI::App* verb = app.add_subcommand("windows", "Cut frames into windows and write their graphs");
  verb->add_option("FRAMES", options->windows.frames, "A data set of frames")->required();
  verb->add_option("--out", options->windows.out, "Write the graph_set to this folder")
      ->required()
      ->type_name("DIR");
  add_word_option(*verb, "--features", options->windows.windows.features,
                  "Compute these features: those of the published KD-GAT graphs, bit for bit (compat), or "
                  "features of every frame, including time and length (behaviour)");
  verb->add_option("--window", options->window,
                   "Cut windows of this length in frames, or, with behaviour, in time, such as 50ms")
      ->capture_default_str();
  verb->add_option("--stride", options->stride,
                   "Start a window at this distance from the start of the previous one, in frames or time; "
                   "default: 100 frames, or the length of a window in time");
  verb->add_option("--vocabulary-from", options->windows.windows.learn_from.splits,
                   "Learn the known IDs from these splits; default: splits whose names start with train")
      ->type_name("SPLIT");
  verb->add_option("--calibrate", options->windows.windows.calibration.windows,
                   "Behaviour features: calibrate on the first WINDOWS benign windows of each recording, at "
                   "most a third of all its windows")
      ->check(at_least(0))
      ->type_name("WINDOWS");
  verb->add_option("--shard", options->shard,
                   "Make only shard I (from 1) of N; `plimsoll merge` joins the shards")
      ->type_name("I/N");
  verb->add_flag("--force", options->windows.force, "Replace an existing output");
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*verb);
  options->resources.add_threads(*verb);
  verb->footer("Example: plimsoll windows frames --out graphs --features compat");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
