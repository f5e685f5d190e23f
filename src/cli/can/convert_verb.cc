#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "can/capture/sources.h"
#include "can/write/convert.h"
#include "cli/can/can_verbs.h"
#include "cli/can/capture_options.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/python_verbs.h"
#include "store/data_set.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct ConvertVerbOptions {
  ConvertOptions convert;
  std::string to;
  std::string bus = {};
  bool trust = false;
  Resources resources;
  bool json = false;
};

// Returns the command that reads the captures back into the same frames.
std::string way_back(const ConvertResult& result) {
  return fmt::format("plimsoll ingest can {} --out FRAMES{}{}{}", result.out.string(),
                     result.labels ? " --attack-label 1" : "", result.fd ? " --payload 64" : "",
                     result.merged ? " --merge-channels" : "");
}

// Returns the format that --to names; without --to, the format for the output's file name extension, or csv.
const WrittenFormat& format_of(const ConvertVerbOptions& options, bool is_captured) {
  if (!options.to.empty()) return written_format(options.to);
  const WrittenFormat* const by_ending = is_captured ? format_of_ending(options.convert.out) : nullptr;
  if (by_ending != nullptr) return *by_ending;
  if (is_captured && is_capture(options.convert.out))
    throw UsageError(
        fmt::format("{}: its file name extension is not that of a format that can be written; give --to",
                    options.convert.out.string()));
  return written_format("csv");
}

void print_result(const ConvertResult& result, const ConvertVerbOptions& options, double seconds,
                  Budget& budget) {
  if (options.json) {
    Json summary = {{"out", result.out.string()},    {"recordings", result.recordings},
                    {"frames", result.frames},       {"left_out", result.losses.to_json()},
                    {"back", way_back(result)},      {"seconds", seconds},
                    {"memory", budget.report_json()}};
    if (result.truncation) summary["truncated_at"] = result.truncation->at;
    print_json(summary);
    return;
  }
  fmt::print("{}: {} frames of {} recordings as {}; {}\n", result.out.string(), format_count(result.frames),
             result.recordings, options.convert.to->name, format_seconds(seconds));
  if (const std::string lost = result.losses.text(); !lost.empty())
    fmt::print("left out, because {} cannot store it: {}\n", options.convert.to->name, lost);
  fmt::print("back: {}\n{}\n", way_back(result), budget.report());
}

void run(ConvertVerbOptions options, char** argv) {
  const std::filesystem::path& source = options.convert.source;
  const bool is_file = std::filesystem::is_regular_file(source);
  const bool captured = is_file && is_capture(source);
  if ((is_file && !captured) ||
      (!is_file && (!std::filesystem::exists(source / "manifest.json") || kind_of(source) != "frames"))) {
    if (!std::filesystem::exists(source)) throw InputError("no such file or folder: " + source.string());
    become_python(argv);
  }
  const Stopwatch watch;
  Budget budget(options.resources, captured ? 256 * kMiB : 64 * kMiB);
  options.convert.to = &format_of(options, captured);
  options.convert.threads = options.resources.thread_count();
  ConvertResult result;
  {
    Progress progress("convert", captured ? "" : "frames",
                      captured ? Progress::Unit::bytes : Progress::Unit::count);
    const auto report = until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); });
    result = stopped_in_order([&] {
      return captured ? convert_capture(options.convert, report) : convert_frames(options.convert, report);
    });
  }
  print_result(result, options, watch.seconds(), budget);
}

}  // namespace

void add_convert(CLI::App& app, char** argv) {
  auto options = std::make_shared<ConvertVerbOptions>();
  CLI::App* verb = app.add_subcommand(
      "convert", "Convert between capture formats, and between graph sets and PyTorch Geometric files");
  verb->add_option("SOURCE", options->convert.source,
                   "A data set of frames; a capture in any format; a graph_set; PyTorch Geometric files (a "
                   ".pt file or a folder of them); or an .arxml, .kcd or .sym file to convert to a DBC (in "
                   "Python, with cantools)")
      ->required();
  verb->add_option("--out", options->convert.out,
                   "Write to this folder; for a capture, to this file or into this folder")
      ->required()
      ->type_name("PATH");
  verb->add_option("--to", options->to,
                   "Frames and captures: write this format, csv or candump; default: by the file name "
                   "extension of --out, else csv")
      ->type_name("FORMAT");
  add_capture_options(*verb, options->convert.format);
  verb->add_flag("--benign", options->convert.format.benign,
                 "Captures: label every frame 0, because csv needs labels");
  verb->add_option("--bus", options->bus,
                   "Convert only this bus, if an ARXML, KCD or SYM file describes several")
      ->type_name("NAME");
  verb->add_option("--leave-out", options->convert.leave_out,
                   "Captures: leave out frames of this kind, remote or error, which csv cannot store. "
                   "PyTorch Geometric files: leave out this attribute, for which a graph_set has no column")
      ->type_name("NAME");
  verb->add_flag("--trust", options->trust, "PyTorch Geometric files: also load files that can run code");
  verb->add_flag("--force", options->convert.force, "Replace an existing output");
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*verb);
  verb->footer("Example: plimsoll convert drive.blf --out drive.log");
  verb->callback([options, argv] { run(*options, argv); });
}

}  // namespace plimsoll
