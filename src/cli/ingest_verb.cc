#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/verbs.h"
#include "ingest/can/ingest.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct Options {
  IngestOptions ingest;
  std::string on_error = "fail";
  std::string id = "hex";
  std::string bytes;
  std::string length = "bytes";
  std::string shard = "1/1";
  Resources resources;
  bool json = false;
};

// The words of the command line as the types of IngestOptions.
void settle(Options& options) {
  FormatOptions& format = options.ingest.format;
  format.decimal_id = options.id == "dec";
  format.decimal_bytes = (options.bytes.empty() ? options.id : options.bytes) == "dec";
  format.length_in_bits = options.length == "bits";
  if (!format.columns.empty() && format.name == "auto") format.name = "table";
  options.ingest.skip_errors = options.on_error == "skip";
  options.ingest.shard = Shard::parse(options.shard);
  options.ingest.threads = options.resources.thread_count();
}

void add_format_options(CLI::App& can, Options& options) {
  FormatOptions& format = options.ingest.format;
  const auto words = [](std::vector<std::string> allowed) { return CLI::IsMember(std::move(allowed)); };
  can.add_option("--format", format.name, "auto, ctat-csv, hcrl-csv, hcrl-text, candump or table")
      ->check(words({"auto", "ctat-csv", "hcrl-csv", "hcrl-text", "candump", "table"}))
      ->capture_default_str();
  can.add_option("--payload", format.payload, "Bytes of payload a frame has room for: 8, or 64 for CAN FD")
      ->capture_default_str();
  can.add_option("--channel", format.channel, "candump: take the frames of this channel alone");
  can.add_option("--attack-label", format.attack_labels, "Label texts that mean an attack")
      ->type_name("TEXT...");
  can.add_option("--on-error", options.on_error, "A bad line: fail, or skip it and count it")
      ->check(words({"fail", "skip"}))
      ->capture_default_str();
  can.add_option("--skip-limit", options.ingest.skip_limit,
                 "Bad lines after which a file is refused all the same")
      ->capture_default_str();
  CLI::App* table = can.add_option_group("table", "How the columns of a table are to be read");
  table
      ->add_option("--columns", format.columns,
                   "time, id, length, payload, byte*8, bytes, label, - (leave out), ... (leave out the rest)")
      ->delimiter(',');
  table->add_option("--separator", format.separator, "One character, tab, or space for runs of blanks")
      ->capture_default_str();
  table->add_option("--quote", format.quote, "A character around fields that hold separators");
  table->add_option("--id", options.id, "IDs in hex or dec")
      ->check(words({"hex", "dec"}))
      ->capture_default_str();
  table->add_option("--bytes", options.bytes, "Bytes in hex or dec; default: as --id")
      ->check(words({"hex", "dec"}));
  table->add_option("--time", format.time, "s, ms, us, timeofday or none")
      ->check(words({"s", "ms", "us", "timeofday", "none"}))
      ->capture_default_str();
  table->add_option("--length", options.length, "Lengths in bytes or bits")
      ->check(words({"bytes", "bits"}))
      ->capture_default_str();
}

void run(Options& options) {
  settle(options);
  const Stopwatch watch;
  Budget budget(options.resources, 256 * kMiB);
  IngestResult result;
  {
    Progress progress("ingest", "", Progress::Unit::bytes);
    result = ingest_can(options.ingest,
                        until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); }));
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
                          {"memory", budget.report_json()}};
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
  CLI::App* ingest = app.add_subcommand("ingest", "Read captures, or graphs of others, into a data set");
  ingest->require_subcommand(1);
  CLI::App* can =
      ingest->add_subcommand("can", "CAN captures in any of the known formats, plain, .zst or .gz");
  can->add_option("SRC", options->ingest.sources, "Capture files, or folders whose folders become splits")
      ->required();
  can->add_option("--out", options->ingest.out, "The data set to make")->required()->type_name("DIR");
  can->add_option("--shard", options->shard,
                  "Part I of N alone, of whole captures; `plimsoll merge` joins the parts")
      ->type_name("I/N");
  can->add_flag("--force", options->ingest.force, "Replace an existing output");
  can->add_flag("--json", options->json, "The summary as JSON");
  add_format_options(*can, *options);
  options->resources.add_budget(*can);
  options->resources.add_threads(*can);
  can->footer("Example: plimsoll ingest can captures/hcrl_sa --out frames --budget 64MiB");
  can->callback([options] { run(*options); });
  add_ingest_tu(*ingest);
  add_ingest_graph(*ingest);
  add_ingest_points(*ingest);
  add_ingest_swc(*ingest);
}

}  // namespace plimsoll
