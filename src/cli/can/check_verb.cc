#include <fmt/format.h>

#include <exception>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "can/dbc/dbc_rules.h"
#include "can/live/dbc_remarks.h"
#include "can/live/event_text.h"
#include "can/live/frame_feed.h"
#include "cli/can/can_verbs.h"
#include "cli/can/capture_options.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

struct CheckVerbOptions {
  std::string dbc;
  std::vector<std::string> sources;
  FeedOptions feed;
  bool json = false;
  bool fail = false;
  Resources resources;
};

// The rules of each channel, by its name; "" if frames have no channel. A DBC describes one bus, so gaps and
// counters are checked per channel.
using Channels = std::map<std::string, DbcRules>;

void take(const FrameBatch& batch, const FormatOptions& format, const Dbc& dbc, Channels& channels) {
  const auto rules_of = [&](const std::string& channel) -> DbcRules& {
    return channels.try_emplace(format.name_of_channel(channel), dbc).first->second;
  };
  const FrameSpans frames = batch.spans();
  for (int64_t begin = 0, end = 0; begin < frames.size(); begin = end) {
    const auto channel = [&](int64_t i) {
      return batch.channel.empty() ? -1 : batch.channel[static_cast<size_t>(i)];
    };
    for (end = begin + 1; end < frames.size() && channel(end) == channel(begin);) ++end;
    const std::string name = channel(begin) < 0 ? "" : batch.channels[static_cast<size_t>(channel(begin))];
    rules_of(name).add(frames.part(begin, end - begin));
  }
}

void print_table(const Dbc& dbc, const Channels& channels) {
  Table table({"<channel", "<ID", "<message", "<signal", "<rule", "frames", "<first", "<found", "<expected"});
  int64_t findings = 0;
  for (const auto& [channel, rules] : channels)
    for (const DbcFinding& finding : rules.findings()) {
      ++findings;
      table.add({channel.empty() ? "-" : channel, id_text(finding.can_id), dbc.name_of(finding.can_id),
                 finding.signal, kDbcRules.at(static_cast<size_t>(finding.rule)),
                 format_count(finding.frames), iso_time(finding.first_ns), finding.found, finding.expected});
    }
  if (findings > 0) fmt::print("{}\n", table.text());
}

Json findings_json(const Dbc& dbc, const Channels& channels) {
  Json all = Json::array();
  for (const auto& [channel, rules] : channels)
    for (const DbcFinding& finding : rules.findings()) {
      all.push_back({{"channel", channel},
                     {"id", id_text(finding.can_id)},
                     {"message", dbc.name_of(finding.can_id)},
                     {"signal", finding.signal},
                     {"rule", kDbcRules.at(static_cast<size_t>(finding.rule))},
                     {"frames", finding.frames},
                     {"first_ns", finding.first_ns},
                     {"found", finding.found},
                     {"expected", finding.expected}});
      if (dbc.has_groups()) add_j1939(finding.can_id, all.back());
    }
  return all;
}

void run(const CheckVerbOptions& options) {
  Budget budget(options.resources);
  const std::atomic<bool>& stop = catch_interrupts();
  const Dbc dbc = read_dbc_with_remarks(options.dbc);
  FeedOptions feed_options = options.feed;
  feed_options.stop = &stop;
  const std::unique_ptr<FrameFeed> feed = open_feed(options.sources, feed_options);
  Channels channels;
  std::exception_ptr damage;  // Thrown after the findings before the damage were reported.
  try {
    for (FrameBatch batch; feed->read(batch);) take(batch, feed_options.format, dbc, channels);
  } catch (const InputError&) {
    damage = std::current_exception();
  }

  int64_t frames = 0, broken = 0;
  for (const auto& [channel, rules] : channels) {
    frames += rules.frames();
    broken += rules.broken();
  }
  const FeedLosses& losses = feed->losses();
  if (options.json) {
    Json summary = {{"frames", frames},
                    {"broken", broken},
                    {"malformed_lines", losses.lines},
                    {"dropped_frames", losses.frames},
                    {"messages", dbc.messages().size()},
                    {"dbc_remarks", remarks_json(dbc)},
                    {"findings", findings_json(dbc, channels)}};
    if (losses.truncation) summary["truncated_at"] = losses.truncation->at;
    print_json(summary);
  } else {
    print_table(dbc, channels);
    fmt::print("{} of {} frames break rules of {}\n", format_count(broken), format_count(frames),
               options.dbc);
    if (losses.lines + losses.frames > 0)
      fmt::print("{} malformed lines and {} frames that the system dropped were not checked\n",
                 format_count(losses.lines), format_count(losses.frames));
  }
  if (losses.truncation)
    feed_options.format.warn(truncation_text(options.sources.front(), *losses.truncation, frames));
  if (damage) std::rethrow_exception(damage);
  if (frames == 0 && !stop)
    throw InputError(
        fmt::format("{}: found no frame to check, expected at least one", options.sources.front()));
  if (options.fail && broken > 0) throw AlarmsRaised{};
}

}  // namespace

void add_check(CLI::App& app) {
  auto options = std::make_shared<CheckVerbOptions>();
  CLI::App* verb = app.add_subcommand("check", "Find frames that contradict a DBC");
  verb->add_option("DBC", options->dbc, "A DBC file that describes the messages and signals of the bus")
      ->required();
  verb->add_option(
          "SOURCE", options->sources,
          "A capture in any format, a named pipe, - for standard input, or one or more CAN interfaces")
      ->required();
  verb->add_flag("--fail-on-finding", options->fail, "Exit with code 10 if any frame breaks a rule");
  verb->add_flag("--strict", options->feed.strict,
                 "Stop with an error at a malformed line; default: count and skip it");
  verb->add_flag("--json", options->json, "Print the findings as JSON");
  add_capture_options(*verb, options->feed.format);
  verb->get_option("--payload")->description("Read up to 8 or 64 payload bytes per frame; default: 64");
  options->resources.add_budget(*verb);
  verb->footer("Example: plimsoll check car.dbc drive.blf");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
