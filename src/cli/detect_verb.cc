#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/units.h"
#include "cli/alarm_lines.h"
#include "cli/capture_options.h"
#include "cli/command.h"
#include "cli/incidents.h"
#include "cli/interrupt.h"
#include "cli/verbs.h"
#include "detect/dbc_names.h"
#include "detect/frame_feed.h"
#include "detect/stream_detector.h"
#include "io/source_reader.h"

namespace plimsoll {
namespace {

struct Options {
  std::string model;
  std::string source;
  std::string window;
  std::string stride;
  FeedOptions feed;
  DetectOptions detect;
  bool all = false;
  bool json = false;
  std::string events;
  std::string vehicle;
  double event_gap = 1;
  std::string dbc;
  bool fail_on_alarm = false;
  Resources resources;
};

DetectOptions detect_options(const Options& options) {
  DetectOptions detect = options.detect;
  if (!options.window.empty()) detect.window = WindowLength::parse(options.window);
  if (!options.stride.empty()) detect.stride = WindowLength::parse(options.stride);
  return detect;
}

std::unique_ptr<FrameFeed> open_feed(const std::string& source, const FeedOptions& options) {
  if (source != "-" && !std::filesystem::exists(source) && is_interface(source))
    return open_can_feed(source, options);
  return open_capture_feed(source, options);
}

// Frames to verdicts, until the feed ends or is interrupted.
class Detection {
 public:
  /// `incidents` may be null.
  Detection(StreamDetector& detector, FrameFeed& feed, const std::atomic<bool>& stop, AlarmLines& lines,
            Incidents* incidents)
      : detector_(detector), feed_(feed), stop_(stop), lines_(lines), incidents_(incidents) {}

  void run() {
    FrameBatch batch;
    bool begun = false;
    while (feed_.read(batch)) {
      if (!begun) detector_.begin(feed_.facts());
      begun = true;
      take(batch.spans());
    }
    // A window that was cut off by a signal is none that thresholds were chosen for.
    if (begun && !stop_) {
      detector_.end();
      judge();
    }
    if (incidents_ != nullptr) incidents_->end();
  }

 private:
  void take(FrameSpans frames) {
    for (;;) {
      const int64_t taken = detector_.add(frames);
      judge();
      lines_.count_frames(taken);
      if (taken == frames.size()) return;
      detector_.end();
      judge();
      lines_.begin_recording();
      if (incidents_ != nullptr) incidents_->end();
      detector_.begin(feed_.facts());
      frames = frames.part(taken, frames.size() - taken);
    }
  }

  void judge() {
    Verdict verdict;
    while (detector_.next(verdict)) {
      lines_.add(verdict, detector_, feed_.arrived());
      if (incidents_ != nullptr) incidents_->add(verdict, detector_);
    }
  }

  StreamDetector& detector_;
  FrameFeed& feed_;
  const std::atomic<bool>& stop_;
  AlarmLines& lines_;
  Incidents* incidents_;
};

void warn_of_other_windows(const StreamDetector& detector) {
  const WindowOptions& now = detector.windows();
  const WindowOptions& trained = detector.trained_windows();
  if (now.window != trained.window)
    fmt::print(stderr,
               "plimsoll: windows of {}, but the detector and its thresholds come from windows of {}\n",
               WindowLength{now.window, now.unit}.text(), WindowLength{trained.window, trained.unit}.text());
}

// To be said at once: the end of a live stream may be far.
void warn_of_other_channel(const std::string& source, const std::string& channel) {
  fmt::print(
      stderr,
      "plimsoll: {}: found frames of another channel than '{}', that of its first frame; they are left "
      "out and not judged; choose a channel with --channel\n",
      source, channel);
}

// What was not judged must not pass for benign.
void require_windows(const std::string& source, const AlarmLines& lines, const FeedLosses& losses) {
  if (lines.windows() > 0) return;
  throw InputError(
      fmt::format("{}: no window was judged: found {} frames, {} malformed lines and {} frames of other "
                  "channels, expected "
                  "the frames of a window at least",
                  source, lines.frames(), losses.lines, losses.other_channels));
}

std::string hash_of(const std::string& file) {
  SourceReader reader(file);
  std::vector<char> buffer(64 << 10);
  while (reader.read(buffer.data(), buffer.size()) > 0) {
  }
  return reader.hash();
}

void run(const Options& options) {
  const Stopwatch watch;
  Budget budget(options.resources);
  const std::atomic<bool>& stop = catch_interrupts();
  FeedOptions feed_options = options.feed;
  feed_options.stop = &stop;
  const std::string source = options.source == "-" ? "standard input" : options.source;
  feed_options.on_other_channel = [&](const std::string& channel) { warn_of_other_channel(source, channel); };
  StreamDetector detector(options.model, detect_options(options));
  warn_of_other_windows(detector);
  const std::unique_ptr<FrameFeed> feed = open_feed(options.source, feed_options);
  std::map<uint32_t, std::string> names;
  if (!options.dbc.empty()) names = read_dbc_names(options.dbc);
  std::optional<Incidents> incidents;
  if (!options.events.empty())
    incidents.emplace(Incidents::Options{.source = source,
                                         .vehicle = options.vehicle,
                                         .detector = hash_of(options.model),
                                         .threshold = detector.threshold(),
                                         .gap_ns = static_cast<int64_t>(options.event_gap * 1e9),
                                         .names = names});
  AlarmLines lines({.all = options.all,
                    .json = options.json,
                    .incidents = incidents.has_value(),
                    .names = std::move(names),
                    .threshold = detector.threshold()},
                   watch);
  Detection(detector, *feed, stop, lines, incidents ? &*incidents : nullptr).run();
  lines.summarise(feed->losses(), budget);
  if (!stop) require_windows(source, lines, feed->losses());
  if (options.fail_on_alarm && lines.alarms() > 0) throw AlarmsRaised{};
}

}  // namespace

void add_detect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("detect", "Find attacks in CAN frames as they come");
  verb->add_option("MODEL", options->model, "The detector.safetensors of a run")->required();
  verb->add_option("SOURCE", options->source,
                   "A capture in any format, a named pipe, - for standard input, or a CAN interface")
      ->required();
  verb->add_option("--window", options->window,
                   "Frames a window, or time; default: as the detector was trained")
      ->type_name("LENGTH");
  verb->add_option("--stride", options->stride, "From one window to the next; default: as it was trained")
      ->type_name("LENGTH");
  CLI::Option* const rate = verb->add_option("--false-alarms", options->detect.false_alarms,
                                             "Take the threshold of this rate of benign windows, 0.01 or "
                                             "0.001; default: the least the detector has");
  rate->type_name("RATE");
  verb->add_option("--threshold", options->detect.threshold,
                   "The score above which a window is an attack; fused scores have theirs at 1")
      ->type_name("SCORE")
      ->excludes(rate);
  verb->add_flag("--all", options->all, "A line for every window, not for alarms alone");
  verb->add_flag("--json", options->json, "JSON lines; the last one is the summary");
  verb->add_option("--events", options->events, "A JSON line for an incident, not for each alarm")
      ->check(CLI::IsMember({"json"}))
      ->type_name("json");
  verb->add_option("--event-gap", options->event_gap,
                   "Seconds without an alarm after which an incident is over")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  verb->add_option("--vehicle", options->vehicle, "A name of the vehicle, for incidents")->type_name("NAME");
  verb->add_option("--dbc", options->dbc, "Names of messages")->type_name("FILE");
  verb->add_flag("--fail-on-alarm", options->fail_on_alarm, "Exit code 10 where there was an alarm");
  verb->add_flag("--strict", options->feed.strict,
                 "End with an error at a malformed line; default: count it");
  add_capture_options(*verb, options->feed.format);
  options->resources.add_budget(*verb);
  verb->footer(
      "Examples: plimsoll detect run/detector.safetensors capture.csv\n"
      "          candump -L can0 | plimsoll detect run/detector.safetensors - --json");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
