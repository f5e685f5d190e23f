#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
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
  std::vector<std::string> formats = capture_formats();
  formats.emplace_back("table");
  can.add_option("--format", format.name, "Of the captures; `table` is what --columns describes")
      ->check(words(formats))
      ->capture_default_str();
  can.add_option("--payload", format.payload, "Bytes of payload a frame has room for: 8, or 64 for CAN FD")
      ->capture_default_str();
  can.add_option("--channel", format.channel,
                 "Take the frames of this channel alone, where the format tells channels");
  can.add_option("--attack-label", format.attack_labels, "Label texts that mean an attack")
      ->type_name("TEXT...");
  can.add_flag("--benign", format.benign, "Nothing in the captures is an attack: label every frame 0");
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
  const double seconds = watch.seconds();
  print_made(
      {.out = options.ingest.out,
       .already_there = result.already_there,
       .counts = {{"recordings", result.recordings.size()},
                  {"frames", frames},
                  {"attack_frames", attacks},
                  {"copies", copies},
                  {"source_bytes", result.source_bytes},
                  {"text_bytes", result.text_bytes}},
       .text = fmt::format("{} frames of {} recordings ({} attack frames, {} copies)", format_count(frames),
                           result.recordings.size(), format_count(attacks), copies),
       .from = "sources",
       .remarks = "",
       .took = fmt::format(
           "{} of text in {} ({}/s, {})", format_bytes(result.text_bytes), format_seconds(seconds),
           format_bytes(static_cast<int64_t>(static_cast<double>(result.text_bytes) / seconds)),
           format_rate(frames, seconds, "frames"))},
      seconds, budget, options.json);
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
  can->add_option(
         "--split", options->ingest.split,
         "Of captures that lie in no folder of their own, such as train; default: their folder's name")
      ->type_name("NAME");
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
