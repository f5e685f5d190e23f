#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "can/capture/ingest.h"
#include "can/detector/calibrate.h"
#include "can/detector/rate_bound.h"
#include "cli/can/can_verbs.h"
#include "cli/can/capture_options.h"
#include "cli/can/truncated_json.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "io/new_folder.h"
#include "io/replaceable.h"

namespace plimsoll {
namespace {

struct CalibrateVerbOptions {
  std::filesystem::path model;
  std::vector<std::filesystem::path> benign;
  std::vector<std::filesystem::path> merge;  // Other detectors.
  std::filesystem::path out;
  FormatOptions format;
  TableOptions table;
  Resources resources;
  bool force = false;
  bool json = false;
};

// Merges detectors or calibrates one. Captures are ingested into a folder next to the output, which is
// removed at the end; a data set of frames is read as it is. `truncated` receives the truncated captures.
CalibrationResult calibrate(const CalibrateVerbOptions& options, Json& truncated) {
  if (!options.merge.empty()) {
    std::vector<std::filesystem::path> models = options.merge;
    models.push_back(options.model);
    return merge_detectors(models, options.out);
  }
  if (options.benign.empty())
    throw UsageError(
        "give benign traffic with --benign, or detectors calibrated on other drives with --merge");
  const DetectorFile model(options.model);
  require_calibratable(model);
  std::filesystem::path name = options.out;
  name += ".frames";
  const NewFolder scratch(name, false);
  for (const auto& benign : options.benign) {
    if (!std::filesystem::exists(benign / "manifest.json")) continue;
    if (options.benign.size() == 1) return calibrate_detector(model, benign, options.out, throw_if_stopped);
    throw UsageError(benign.string() + ": is a data set; give either one data set or captures");
  }
  const std::filesystem::path set = scratch.path() / "frames";
  const IngestResult ingested = stopped_in_order([&] {
    return ingest_can({.sources = options.benign, .out = set, .format = options.format},
                      [](int64_t, int64_t) { throw_if_stopped(); });
  });
  add_truncated(ingested.recordings, truncated);
  return calibrate_detector(model, set, options.out, throw_if_stopped);
}

void print_result(const CalibrationResult& result, const Json& truncated, const CalibrateVerbOptions& options,
                  Budget& budget) {
  if (options.json) {
    Json summary = {{"out", options.out.string()},
                    {"windows", result.windows},
                    {"left_out", result.left_out},
                    {"seconds", result.seconds},
                    {"ids", result.ids},
                    {"expected_ids", result.expected},
                    {"target_rate", result.line.target_rate},
                    {"realised_rate", result.line.realised_rate},
                    {"rate_bound", rate_bound(result.alarms(), result.windows)},
                    {"memory", budget.report_json()}};
    summary.update(truncated);
    return print_json(summary);
  }
  fmt::print("{}: calibrated on {} benign windows, {:.1f} s; {} IDs, {} of which are watched for silence\n",
             options.out.string(), format_count(result.windows), result.seconds, result.ids, result.expected);
  if (result.left_out > 0)
    fmt::print("left out {} windows with frames labelled as attacks\n", format_count(result.left_out));
  fmt::print(
      "alarms: {} of these windows, with one half for calibration and the other for testing; at 95 % "
      "confidence, at most {:.2g} % of such windows\n{}\n",
      format_count(result.alarms()), 100 * rate_bound(result.alarms(), result.windows), budget.report());
}

void run(CalibrateVerbOptions& options) {
  options.table.settle(options.format);
  Budget budget(options.resources, 256 * kMiB);
  require_no_source(options.out, options.benign);
  require_no_source(options.out, options.merge);
  if (!options.force && std::filesystem::exists(options.out))
    throw Failure(options.out.string() + " already exists; give --force to replace it");
  stop_in_order();
  Json truncated = Json::object();
  const CalibrationResult result = calibrate(options, truncated);
  print_result(result, truncated, options, budget);
  require_saved(result.unsaved);
  throw_if_stopped();
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto options = std::make_shared<CalibrateVerbOptions>();
  CLI::App* verb = app.add_subcommand("calibrate", "Calibrate a detector on the benign traffic of a vehicle");
  verb->add_option("MODEL", options->model,
                   "A detector: detector.safetensors of a run, or the output of `calibrate`")
      ->required();
  CLI::Option* const benign = verb->add_option("--benign", options->benign,
                                               "Calibrate on this benign traffic of the vehicle: one or more "
                                               "captures in any format, or a data set of frames");
  benign->type_name("CAPTURE...");
  verb->add_option("--merge", options->merge,
                   "Merge MODEL with detectors that were calibrated on other drives of the vehicle")
      ->type_name("MODEL...")
      ->excludes(benign);
  verb->add_option("--out", options->out, "Write the detector to this file")->required()->type_name("MODEL");
  options->table.add(*verb, options->format);
  add_merge_channels(*verb, options->format);
  verb->add_flag("--force", options->force, "Replace an existing output");
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*verb);
  verb->footer(
      "Examples: plimsoll calibrate runs/transfer/detector.safetensors --benign drive.log --out "
      "car.safetensors\n"
      "          plimsoll calibrate monday.safetensors --merge tuesday.safetensors --out car.safetensors");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
