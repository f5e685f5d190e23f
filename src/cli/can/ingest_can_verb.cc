#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "can/capture/ingest.h"
#include "cli/can/capture_options.h"
#include "cli/can/truncated_json.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/verbs.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct IngestVerbOptions {
  IngestOptions ingest;
  std::string on_error = "fail";
  TableOptions table;
  std::string shard = "1/1";
  Resources resources;
  bool json = false;
};

void add_reading_options(CLI::App& can, IngestVerbOptions& options) {
  options.table.add(can, options.ingest.format);
  add_merge_channels(can, options.ingest.format);
  can.add_flag("--benign", options.ingest.format.benign, "Label every frame 0, for captures without attacks");
  can.add_option("--on-error", options.on_error, "Handle bad lines: fail, or skip and count them")
      ->check(CLI::IsMember({"fail", "skip"}))
      ->capture_default_str();
  can.add_option("--skip-limit", options.ingest.skip_limit, "Fail if a file has more than N bad lines")
      ->capture_default_str();
}

void run(IngestVerbOptions& options) {
  options.table.settle(options.ingest.format);
  options.ingest.skip_errors = options.on_error == "skip";
  options.ingest.shard = Shard::parse(options.shard);
  options.ingest.threads = options.resources.thread_count();
  const Stopwatch watch;
  Budget budget(options.resources, 256 * kMiB);
  IngestResult result;
  {
    Progress progress("ingest", "", Progress::Unit::bytes);
    const auto report = until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); });
    result = stopped_in_order([&] { return ingest_can(options.ingest, report); });
  }
  int64_t frames = 0;
  int64_t attacks = 0;
  int64_t copies = 0;
  for (const Recording& recording : result.recordings) {
    frames += recording.frames;
    attacks += recording.attack_frames;
    copies += recording.copy_of.has_value();
  }
  const double seconds = watch.seconds();
  Json counts = {{"recordings", result.recordings.size()},
                 {"frames", frames},
                 {"attack_frames", attacks},
                 {"copies", copies},
                 {"source_bytes", result.source_bytes},
                 {"text_bytes", result.text_bytes}};
  add_truncated(result.recordings, counts);
  print_made(
      {.out = options.ingest.out,
       .already_there = result.already_there,
       .counts = std::move(counts),
       .text = fmt::format("{} frames of {} recordings ({} attack frames, {} copies)", format_count(frames),
                           result.recordings.size(), format_count(attacks), copies),
       .from = "sources",
       .remarks = "",
       .took =
           fmt::format("{} in {} ({}/s, {})", format_bytes(result.text_bytes), format_seconds(seconds),
                       format_bytes(static_cast<int64_t>(static_cast<double>(result.text_bytes) / seconds)),
                       format_rate(frames, seconds, "frames"))},
      seconds, budget, options.json);
}

}  // namespace

void add_ingest_can(CLI::App& ingest) {
  auto options = std::make_shared<IngestVerbOptions>();
  CLI::App* can = ingest.add_subcommand("can", "Read CAN captures in any known format, plain, .zst or .gz");
  can->add_option("SRC", options->ingest.sources, "Capture files, or folders whose subfolders become splits")
      ->required();
  can->add_option("--out", options->ingest.out, "Write the data set to this folder")
      ->required()
      ->type_name("DIR");
  can->add_option(
         "--split", options->ingest.split,
         "Name the split of captures that are not in a subfolder, such as train; default: the name of their "
         "folder. If NAME starts with train and no folder name does, NAME applies to all captures")
      ->type_name("NAME");
  can->add_option("--shard", options->shard,
                  "Make only shard I (from 1) of N, from whole captures; `plimsoll merge` joins the shards")
      ->type_name("I/N");
  can->add_flag("--force", options->ingest.force, "Replace an existing output");
  can->add_flag("--json", options->json, "Print the summary as JSON");
  add_reading_options(*can, *options);
  options->resources.add_budget(*can);
  options->resources.add_threads(*can);
  can->footer("Example: plimsoll ingest can captures/hcrl_sa --out frames --budget 64MiB");
  can->callback([options] { run(*options); });
}

}  // namespace plimsoll
