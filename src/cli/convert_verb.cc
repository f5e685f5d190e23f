#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/capture_options.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/python_verbs.h"
#include "cli/verbs.h"
#include "ingest/can/convert_frames.h"
#include "ingest/can/ingest.h"
#include "ingest/can/sources.h"
#include "io/new_folder.h"
#include "store/data_set.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct Options {
  ConvertOptions convert;
  FormatOptions format;  // of a capture
  std::string to = "csv";
  std::string bus = {};
  std::vector<std::string> leave_out = {};
  bool trust = false;
  Resources resources;
  bool json = false;
};

// How the captures are read back to the same frames.
std::string way_back(const ConvertOptions& options, const ConvertResult& result) {
  return fmt::format("plimsoll ingest can {} --out FRAMES{}{}", options.out.string(),
                     result.labels ? " --attack-label 1" : "", result.fd ? " --payload 64" : "");
}

// A capture becomes frames beside the output, which go when they are converted.
ConvertResult convert(const Options& options, const std::function<void(int64_t, int64_t)>& progress) {
  if (!std::filesystem::is_regular_file(options.convert.frames))
    return convert_frames(options.convert, progress);
  if (!options.convert.force && std::filesystem::exists(options.convert.out))
    throw Failure(options.convert.out.string() + " exists already; give --force to replace it");
  std::filesystem::path name = options.convert.out;
  name += ".frames";
  const NewFolder scratch(name, false);
  ConvertOptions frames = options.convert;
  frames.frames = scratch.path() / "frames";
  ingest_can({.sources = {options.convert.frames}, .out = frames.frames, .format = options.format},
             [](int64_t, int64_t) { throw_if_stopped(); });
  return convert_frames(frames, progress);
}

void run(Options options, char** argv) {
  const std::filesystem::path& source = options.convert.frames;
  const bool is_file = std::filesystem::is_regular_file(source);
  const bool captured = is_file && is_capture(source);
  if ((is_file && !captured) ||
      (!is_file && (!std::filesystem::exists(source / "manifest.json") || kind_of(source) != "frames"))) {
    if (!std::filesystem::exists(source)) throw InputError("no such file or folder: " + source.string());
    become_python(argv);
  }
  const Stopwatch watch;
  Budget budget(options.resources, captured ? 256 * kMiB : 64 * kMiB);
  if (options.to == "candump") options.convert.format = TextFormat::candump;
  ConvertResult result;
  {
    Progress progress("convert", "frames");
    result =
        convert(options, until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); }));
  }
  const std::string out = options.convert.out.string();
  if (options.json) {
    const Json summary = {{"out", out},
                          {"recordings", result.recordings},
                          {"frames", result.frames},
                          {"back", way_back(options.convert, result)},
                          {"seconds", watch.seconds()},
                          {"memory", budget.report_json()}};
    fmt::print("{}\n", summary.dump());
    return;
  }
  fmt::print("{}: {} frames of {} recordings as {}; {}\nback: {}\n{}\n", out, format_count(result.frames),
             result.recordings, options.to, format_seconds(watch.seconds()),
             way_back(options.convert, result), budget.report());
}

}  // namespace

void add_convert(CLI::App& app, char** argv) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "convert", "Frames and captures to captures as text; graphs to files of PyTorch Geometric, and back");
  verb->add_option("SOURCE", options->convert.frames,
                   "A data set of frames, a capture in any format, a graph_set, or what PyTorch Geometric "
                   "saved: a .pt file or a folder "
                   "of them; .arxml, .kcd or .sym, which become a DBC (in Python, with cantools)")
      ->required();
  verb->add_option("--out", options->convert.out, "The folder to make")->required()->type_name("DIR");
  verb->add_option("--to", options->to, "Of frames: the text of the captures")
      ->check(CLI::IsMember({"csv", "candump"}))
      ->capture_default_str();
  add_capture_options(*verb, options->format);
  verb->add_flag("--benign", options->format.benign, "Of a capture: label every frame 0, which csv needs");
  verb->add_option("--bus", options->bus, "Of a description of several buses: the one that becomes a DBC")
      ->type_name("NAME");
  verb->add_option("--leave-out", options->leave_out,
                   "Of files of PyTorch Geometric: attributes that a graph_set has no column for")
      ->type_name("NAME");
  verb->add_flag("--trust", options->trust,
                 "Of files of PyTorch Geometric: load those that may run code, too");
  verb->add_flag("--force", options->convert.force, "Replace an existing output");
  verb->add_flag("--json", options->json, "The summary as JSON");
  options->resources.add_budget(*verb);
  verb->footer("Example: plimsoll convert frames --out captures --to candump");
  verb->callback([options, argv] { run(*options, argv); });
}

}  // namespace plimsoll
