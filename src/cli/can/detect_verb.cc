#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/units.h"
#include "can/live/alarm_lines.h"
#include "can/live/dbc_remarks.h"
#include "can/live/detection.h"
#include "can/live/event_sink.h"
#include "can/live/frame_feed.h"
#include "cli/can/can_verbs.h"
#include "cli/can/capture_options.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/number_checks.h"
#include "cli/word_option.h"
#include "io/source_reader.h"

namespace plimsoll {
namespace {

struct DetectVerbOptions {
  std::string model;
  std::vector<std::string> sources;
  std::vector<std::string> models;  // Each is CHANNEL=MODEL.
  std::vector<std::string> adopt;   // Each is a list of CAN IDs.
  std::string window;
  std::string stride;
  std::string tick;
  FeedOptions feed;
  TableOptions table;
  DetectOptions detect;
  bool all = false;
  bool json = false;
  std::optional<EventFormat> events = {};
  std::string on_event;
  std::string vehicle;
  Incidents::Options incidents;
  double event_gap = 1;
  double event_interval = 0;
  double event_within = 0;
  int64_t event_rate = 60;
  int64_t event_bytes = 0;
  double event_window = 60;
  int64_t heartbeat = 0;
  int metrics = 0;
  std::string dbc;
  bool j1939 = false;
  bool fail_on_alarm = false;
  Resources resources;
};

DetectOptions detect_options(const DetectVerbOptions& options) {
  DetectOptions detect = options.detect;
  if (!options.window.empty()) detect.window = WindowLength::parse(options.window);
  if (!options.stride.empty()) detect.stride = WindowLength::parse(options.stride);
  for (const std::string& id : options.adopt) detect.adopted.push_back(adopted_id(id));
  return detect;
}

int64_t ns_of(double seconds) {
  return static_cast<int64_t>(seconds * 1e9);
}

int64_t tick_of(const DetectVerbOptions& options) {
  if (options.tick.empty()) return 0;
  const WindowLength tick = WindowLength::parse(options.tick);
  if (tick.unit != WindowUnit::nanoseconds)
    throw UsageError(fmt::format("--tick '{}': expected a time, such as 100ms", options.tick));
  return tick.value;
}

std::map<std::string, std::string> models_by_channel(const std::vector<std::string>& words) {
  std::map<std::string, std::string> models;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(
          fmt::format("--detector '{}': expected CHANNEL=MODEL, such as can1=body.safetensors", word));
    models[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return models;
}

// SIGHUP sets it, so that the detectors' files are read again.
std::atomic<bool> reload_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_hang_up(int /*number*/) {
  reload_requested = true;
}

void warn_of_other_windows(const StreamDetector& detector) {
  const WindowOptions& now = detector.windows();
  const WindowOptions& trained = detector.trained_windows();
  if (now.window != trained.window)
    fmt::print(stderr,
               "plimsoll: evaluating windows of {}, but the detector was trained and its thresholds were set "
               "on windows of {}\n",
               WindowLength{now.window, now.unit}.text(), WindowLength{trained.window, trained.unit}.text());
}

Incidents::Options incident_options(const DetectVerbOptions& options) {
  Incidents::Options incidents = options.incidents;
  incidents.gap_ns = ns_of(options.event_gap);
  incidents.interval_ns = ns_of(options.event_interval);
  incidents.within_ns = ns_of(options.event_within);
  return incidents;
}

// Reports suppressed events and alarms, so that their absence is not mistaken for benign traffic.
void report_dropped_alarms(const DetectCounts& counts) {
  const int64_t events = counts.over_rate + counts.over_bytes;
  const int64_t alarms = counts.blocked + counts.sampled_out + counts.below_threshold;
  if (events + alarms == 0) return;
  fmt::print(stderr,
             "plimsoll: {} events reported; suppressed {} events (--event-rate: {}, --event-bytes: {}) and "
             "{} alarms (--event-block: {}, --event-every: {}, --event-after: {})\n",
             counts.events.load(), events, counts.over_rate.load(), counts.over_bytes.load(), alarms,
             counts.blocked.load(), counts.sampled_out.load(), counts.below_threshold.load());
}

// Throws InputError if no window was evaluated, because the traffic would seem benign.
void require_windows(const std::string& source, const AlarmLines& lines, const FeedLosses& losses) {
  if (lines.windows() > 0) return;
  throw InputError(
      fmt::format("{}: no window was evaluated: found {} frames, {} malformed lines and {} frames of other "
                  "channels, expected at least enough frames for one window",
                  source, lines.frames(), losses.lines, losses.other_channels));
}

// Refuses a missing file before sources are opened, because opening a named pipe waits for its writer.
void require_readable(const std::string& file) {
  const SourceReader reader(file);
}

// Returns the names of the sources for messages, such as "standard input" or "can0, can1".
std::string text_of(const std::vector<std::string>& sources) {
  std::string text;
  for (const std::string& source : sources)
    text += (text.empty() ? "" : ", ") + (source == "-" ? "standard input" : source);
  return text;
}

void run(const DetectVerbOptions& options) {
  const Stopwatch watch;
  Budget budget(options.resources);
  const std::atomic<bool>& stop = catch_interrupts();
  // SIGHUP reloads detectors, except on a terminal, where it means that the terminal was closed.
  if (::isatty(STDOUT_FILENO) == 0) std::signal(SIGHUP, on_hang_up);
  FeedOptions feed_options = options.feed;
  options.table.settle(feed_options.format);
  feed_options.stop = &stop;
  feed_options.tick_ns = tick_of(options);
  const std::string source = text_of(options.sources);
  const bool has_events = options.events.has_value();
  require_readable(options.model);
  EventContext context{.source = source, .vehicle = options.vehicle};
  const Dbc dbc = options.dbc.empty() ? Dbc() : read_dbc_with_remarks(options.dbc);
  context.dbc = &dbc;
  context.j1939 = options.j1939 || dbc.has_groups();
  AlarmLines lines({.all = options.all,
                    .json = options.json,
                    .incidents = has_events,
                    .summary = !has_events || options.events == EventFormat::json || options.json,
                    .dbc = &dbc,
                    .j1939 = context.j1939},
                   watch);
  DetectCounts counts;
  EventSink sink({.format = options.events.value_or(EventFormat::json),
                  .command = options.on_event,
                  .max = options.event_rate,
                  .max_bytes = options.event_bytes,
                  .window_ns = ns_of(options.event_window),
                  .context = context},
                 counts);
  const std::unique_ptr<FrameFeed> feed = open_feed(options.sources, feed_options);
  Detection detection({.model = options.model,
                       .models = models_by_channel(options.models),
                       .detect = detect_options(options),
                       .format = feed_options.format,
                       .incidents = has_events ? std::optional(incident_options(options)) : std::nullopt,
                       .report = [&](const Incident& incident) { sink.report(incident); },
                       .tick_ns = feed_options.tick_ns},
                      *feed, lines, counts, stop, reload_requested);
  warn_of_other_windows(detection.detector());
  {
    const DetectMonitor monitor({.port = options.metrics,
                                 .heartbeat_s = options.heartbeat,
                                 .source = source,
                                 .vehicle = options.vehicle},
                                counts);
    detection.run();
  }  // The monitor ends here, so that no heartbeat follows the summary.
  lines.summarise(feed->losses(), budget.report_json(), has_events ? events_json(counts) : Json());
  if (const auto& truncation = feed->losses().truncation)
    feed_options.format.warn(truncation_text(source, *truncation, lines.frames()));
  if (has_events) report_dropped_alarms(counts);
  detection.throw_damage();
  if (!stop) require_windows(source, lines, feed->losses());
  if (!stop) detection.require_known_channel();
  if (options.fail_on_alarm && lines.alarms() > 0) throw AlarmsRaised{};
}

// The options are in the order in which the filters are applied.
void add_event_filters(CLI::App& verb, CLI::Option* events, DetectVerbOptions& options) {
  constexpr double kMin = 1e-3, kDay = 86400;
  constexpr int64_t kMany = 1'000'000;
  verb.add_option("--event-block", options.incidents.block, "Drop alarms while FILE exists")
      ->type_name("FILE");
  verb.add_option("--event-every", options.incidents.every, "Use only every Nth alarm of a channel")
      ->check(CLI::Range(int64_t{1}, kMany))
      ->type_name("N")
      ->capture_default_str();
  CLI::Option* const gap =
      verb.add_option("--event-gap", options.event_gap, "Close an incident after this time without an alarm");
  gap->check(within(0, kDay))->type_name("SECONDS")->capture_default_str();
  verb.add_option(
          "--event-interval", options.event_interval,
          "Merge all alarms in an interval of SECONDS into one event, sent at the end of the interval")
      ->check(within(kMin, kDay))
      ->type_name("SECONDS")
      ->excludes(gap);
  verb.add_option("--event-after", options.incidents.min_windows, "Report an incident from its Nth alarm on")
      ->check(CLI::Range(int64_t{1}, kMany))
      ->type_name("N")
      ->capture_default_str();
  verb.add_option("--event-within", options.event_within,
                  "Count the alarms for --event-after within an interval of this length; default: within the "
                  "whole incident")
      ->check(within(kMin, kDay))
      ->type_name("SECONDS");
  verb.add_option("--event-rate", options.event_rate,
                  "Report at most this number of events per --event-window; 0: no limit")
      ->check(CLI::Range(int64_t{0}, kMany))
      ->type_name("N")
      ->capture_default_str();
  verb.add_option("--event-bytes", options.event_bytes,
                  "Report at most this number of bytes of events per --event-window; 0: no limit")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->type_name("N")
      ->capture_default_str();
  verb.add_option("--event-window", options.event_window,
                  "Apply --event-rate and --event-bytes to windows of this length, measured by the "
                  "timestamps of the traffic")
      ->check(within(kMin, kDay))
      ->type_name("SECONDS")
      ->capture_default_str();
  for (CLI::Option* const option : verb.get_options())
    if (option->get_name().starts_with("--event-")) option->needs(events);
}

void add_events(CLI::App& verb, CLI::Option* all, DetectVerbOptions& options) {
  CLI::Option* const events = add_word_option(verb, "--events", options.events,
                                              "Print a line for each incident instead of each alarm")
                                  ->excludes(all);
  verb.add_option("--on-event", options.on_event,
                  "Run this shell command for each event, with the event on its standard input")
      ->type_name("COMMAND")
      ->needs(events);
  verb.add_option("--heartbeat", options.heartbeat, "Print a JSON heartbeat every SECONDS; 0: off")
      ->check(CLI::Range(0, 86400))
      ->type_name("SECONDS");
  verb.add_option("--metrics", options.metrics, "Serve Prometheus metrics on this port of 127.0.0.1")
      ->check(CLI::Range(1, 65535))
      ->type_name("PORT");
  add_event_filters(verb, events, options);
}

}  // namespace

void add_detect(CLI::App& app) {
  auto options = std::make_shared<DetectVerbOptions>();
  CLI::App* verb = app.add_subcommand("detect", "Find attacks in CAN frames as they arrive");
  verb->add_option("MODEL", options->model,
                   "A detector: detector.safetensors of a run, or the output of `calibrate` or `detector`")
      ->required();
  verb->add_option(
          "SOURCE", options->sources,
          "A capture in any format, a named pipe, - for standard input, or one or more CAN interfaces")
      ->required();
  verb->add_option("--detector", options->models, "Use the detector MODEL for this channel")
      ->type_name("CHANNEL=MODEL");
  verb->add_option("--adopt", options->adopt,
                   "Accept these CAN IDs of new devices as known; their timing and payloads are not checked")
      ->type_name("ID,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option(
          "--window", options->window,
          "Evaluate windows of this length in frames or time, such as 100 or 50ms; default: as in training")
      ->type_name("LENGTH");
  verb->add_option(
          "--stride", options->stride,
          "Start a window at this distance from the start of the previous one; default: as in training")
      ->type_name("LENGTH");
  verb->add_option("--tick", options->tick,
                   "Also check for silence every TIME, such as 100ms; default: only when a window ends")
      ->type_name("TIME");
  CLI::Option* const rate = verb->add_option(
      "--false-alarms", options->detect.false_alarms,
      "Use the threshold for this false-alarm rate, such as 0.01 or 0.001; default: the lowest rate stored");
  rate->type_name("RATE");
  verb->add_option("--threshold", options->detect.threshold,
                   "Treat windows above this score as attacks; the threshold of fused scores is 1")
      ->check(finite())
      ->type_name("SCORE")
      ->excludes(rate);
  CLI::Option* const all =
      verb->add_flag("--all", options->all, "Print a line for every window, not only for alarms");
  verb->add_flag("--json", options->json, "Print JSON lines; the last one is the summary");
  add_events(*verb, all, *options);
  verb->add_option("--vehicle", options->vehicle, "Report this name of the vehicle in events and heartbeats")
      ->type_name("NAME");
  verb->add_option("--dbc", options->dbc, "Name messages in alarms and events by this DBC file")
      ->type_name("FILE");
  verb->add_flag(
      "--j1939", options->j1939,
      "Report the J1939 parameter groups and addresses of 29-bit IDs in alarms and events; implied "
      "by a DBC with parameter groups");
  verb->add_flag("--fail-on-alarm", options->fail_on_alarm, "Exit with code 10 if any alarm was raised");
  verb->add_flag("--strict", options->feed.strict,
                 "Stop with an error at a malformed line; default: count and skip it");
  options->table.add(*verb, options->feed.format);
  verb->get_option("--payload")->description("Read up to 8 or 64 payload bytes per frame; default: 64");
  options->resources.add_budget(*verb);
  verb->footer(
      "Examples: plimsoll detect run/detector.safetensors capture.csv\n"
      "          plimsoll detect car.safetensors can0 can1 --events json");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
