#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/verbs.h"
#include "ingest/ingest.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct Options {
  IngestOptions ingest;
  Resources resources;
  bool json = false;
};

void run(const Options& options) {
  const Stopwatch watch;
  Budget budget(options.resources, 256 * kMiB);
  IngestResult result;
  {
    Progress progress("ingest", "", Progress::Unit::bytes);
    result = ingest_can(options.ingest, [&](int64_t done, int64_t total) { progress.update(done, total); });
  }
  int64_t frames = 0;
  int64_t attacks = 0;
  int64_t copies = 0;
  for (const Recording& recording : result.recordings) {
    frames += recording.frames;
    attacks += recording.attack_frames;
    copies += recording.copy_of.has_value();
  }
  const std::string out = options.ingest.out.string();
  const double seconds = watch.seconds();
  if (options.json) {
    const Json summary = {{"out", out},
                          {"already_there", result.already_there},
                          {"recordings", result.recordings.size()},
                          {"frames", frames},
                          {"attack_frames", attacks},
                          {"copies", copies},
                          {"source_bytes", result.source_bytes},
                          {"text_bytes", result.text_bytes},
                          {"seconds", seconds},
                          {"memory", Json::parse(budget.report_json())}};
    fmt::print("{}\n", summary.dump());
    return;
  }
  fmt::print("{}: {} frames of {} recordings ({} attack frames, {} copies)\n", out, format_count(frames),
             result.recordings.size(), format_count(attacks), copies);
  if (result.already_there) {
    fmt::print("already there from the same sources: nothing done\n");
    return;
  }
  fmt::print("{} of text in {} ({}/s, {} frames/s)\n", format_bytes(result.text_bytes),
             format_seconds(seconds),
             format_bytes(static_cast<int64_t>(static_cast<double>(result.text_bytes) / seconds)),
             format_count(static_cast<int64_t>(static_cast<double>(frames) / seconds)));
  fmt::print("{}\n", budget.report());
}

}  // namespace

void add_ingest(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* ingest = app.add_subcommand("ingest", "Read captures into a data set of frames");
  ingest->require_subcommand(1);
  CLI::App* can = ingest->add_subcommand("can", "CAN captures: four-column CSV, plain, .zst or .gz");
  can->add_option("SRC", options->ingest.sources, "Capture files, or folders whose folders become splits")
      ->required();
  can->add_option("--out", options->ingest.out, "The data set to make")->required()->type_name("DIR");
  can->add_flag("--force", options->ingest.force, "Replace an existing output");
  can->add_flag("--json", options->json, "The summary as JSON");
  options->resources.add_options(*can);
  can->footer("Example: plimsoll ingest can captures/hcrl_sa --out frames --budget 64MiB");
  can->callback([options] { run(*options); });
}

}  // namespace plimsoll
