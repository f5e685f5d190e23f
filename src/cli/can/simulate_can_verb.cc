#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "can/simulate/inject.h"
#include "can/simulate/simulate.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/number_checks.h"
#include "cli/verbs.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct SimulateVerbOptions {
  SimulateOptions simulate;
  InjectOptions inject;
  std::string target = "any";
  std::string format = "frames";
  std::string attacks = "DoS,fuzzing,spoofing,replay,suppression,masquerade";
  Resources resources;
  bool json = false;
};

SimulateResult make(const SimulateVerbOptions& options, const SimulateProgress& progress) {
  if (!options.inject.frames.empty()) {
    if (options.format != "frames") throw UsageError("--inject writes only frames; remove --format");
    InjectOptions inject = options.inject;
    inject.out = options.simulate.out;
    inject.seed = options.simulate.seed;
    inject.attacks = parse_attacks(options.attacks);
    inject.force = options.simulate.force;
    if (options.target == "periodic") inject.target = TargetChoice::periodic;
    return inject_attacks(inject, progress);
  }
  if (options.simulate.frames == 0) throw UsageError("simulate can needs --frames, or --inject");
  SimulateOptions simulate = options.simulate;
  simulate.attacks = parse_attacks(options.attacks);
  if (options.format != "frames") simulate.captures = &written_format(options.format);
  return simulate_can(simulate, progress);
}

void run(const SimulateVerbOptions& options) {
  const Stopwatch watch;
  Budget budget(options.resources, 256 * kMiB);
  SimulateResult result;
  {
    Progress progress("simulate", "frames");
    result = make(options, until_stopped([&](int64_t done, int64_t total) { progress.update(done, total); }));
  }
  const double seconds = watch.seconds();
  std::string remarks;
  if (result.left_out > result.not_periodic)
    remarks += fmt::format(
        "{} recordings were left unchanged, because they contain attacks, lack times or are copies\n",
        result.left_out - result.not_periodic);
  if (result.not_periodic > 0)
    remarks += fmt::format("{} recordings were left unchanged, because they have no periodic ID\n",
                           result.not_periodic);
  print_made(
      {.out = options.simulate.out,
       .already_there = result.already_there,
       .counts = {{"recordings", result.recordings},
                  {"frames", result.frames},
                  {"attack_frames", result.attack_frames},
                  {"left_out", result.left_out},
                  {"not_periodic", result.not_periodic}},
       .text = fmt::format("{} frames of {} recordings ({} attack frames)", format_count(result.frames),
                           result.recordings, format_count(result.attack_frames)),
       .from = "options",
       .remarks = std::move(remarks),
       .took =
           fmt::format("{} ({})", format_seconds(seconds), format_rate(result.frames, seconds, "frames"))},
      seconds, budget, options.json);
}

}  // namespace

void add_simulate_can(CLI::App& verb) {
  auto options = std::make_shared<SimulateVerbOptions>();
  SimulateOptions& simulate = options->simulate;
  CLI::App* can =
      verb.add_subcommand("can", "Simulate the CAN buses of fictitious vehicles, with labelled attacks");
  can->add_option("--out", simulate.out, "Write the data set, or the folder of captures, to this path")
      ->required()
      ->type_name("PATH");
  can->add_option("--format", options->format,
                  "Write a data set (frames), or a folder of captures (csv or candump)")
      ->check(CLI::IsMember({"frames", "csv", "candump"}))
      ->capture_default_str();
  CLI::Option* frames =
      can->add_option("--frames", simulate.frames, "Simulate this total number of frames in all recordings")
          ->check(at_least(1))
          ->type_name("N");
  can->add_option("--seed", simulate.seed, "Use this random seed")->capture_default_str();
  CLI::Option* vehicles =
      can->add_option("--vehicles", simulate.vehicles,
                      "Simulate this number of vehicles; the last one is never used for training")
          ->check(CLI::Range(2, 64))
          ->capture_default_str();
  can->add_option(
         "--attacks", options->attacks,
         "Use these attacks, separated by commas, or none; injection and flooding are also available")
      ->type_name("LIST")
      ->capture_default_str();
  InjectOptions& inject = options->inject;
  CLI::Option* injected = can->add_option("--inject", inject.frames,
                                          "Inject the attacks into the benign recordings of this data set of "
                                          "frames instead of simulating vehicles")
                              ->type_name("FRAMES")
                              ->excludes(frames)
                              ->excludes(vehicles);
  can->add_option(
         "--target", options->target,
         "With --inject: attack the ID of any frame (any), or only IDs that are sent periodically (periodic)")
      ->check(CLI::IsMember({"any", "periodic"}))
      ->capture_default_str()
      ->needs(injected);
  can->add_flag("--label-silence", inject.label_silence,
                "With --inject: also label frames as attacks while suppression keeps its target silent")
      ->needs(injected);
  can->add_flag("--keep", inject.keep, "With --inject: also copy the original recordings, unchanged")
      ->needs(injected);
  can->add_flag("--force", simulate.force, "Replace an existing output");
  can->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*can);
  can->footer("Example: plimsoll simulate can --out frames --frames 2000000 --seed 1");
  can->callback([options] { run(*options); });
}

}  // namespace plimsoll
