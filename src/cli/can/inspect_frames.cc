#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/units.h"
#include "can/frames/frames.h"
#include "can/live/dbc_remarks.h"
#include "can/live/dbc_table.h"
#include "can/live/group_table.h"
#include "cli/inspector.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

std::string traps_text(const Recording& recording) {
  std::string text;
  if (recording.truncated_at) text = fmt::format("cut off at byte {}", *recording.truncated_at);
  for (const auto& [name, count] : recording.traps.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(count.get<int64_t>()), name);
  return text;
}

// Returns a text such as "including 12,000 with extended IDs, 3 remote frames, 1 error frames, 40 CAN FD
// frames; channels: can0, can1".
std::string kinds_text(const FramesView& view) {
  int64_t extended = 0, remote = 0, error = 0;
  for (const uint32_t id : view.frames().can_id) {
    extended += (id & kCanExtended) != 0;
    remote += (id & kCanRemote) != 0;
    error += (id & kCanError) != 0;
  }
  const FrameSpans& frames = view.frames();
  int64_t fd = 0, brs = 0, esi = 0, sent = 0;
  for (size_t i = 0; i < frames.length.size(); ++i) {
    const uint8_t flags = frames.flags.empty() ? 0 : frames.flags[i];
    fd += (flags & kFrameFd) != 0 || frames.length[i] > kPayloadBytes;
    brs += (flags & kFrameBrs) != 0;
    esi += (flags & kFrameEsi) != 0;
    sent += (flags & kFrameSent) != 0;
  }
  std::set<std::string> channels;
  for (const Recording& recording : view.recordings()) {
    if (recording.channel) channels.insert(*recording.channel);
    channels.insert(recording.channels.begin(), recording.channels.end());
  }
  std::string text =
      fmt::format("including {} with extended IDs, {} remote frames, {} error frames, {} CAN FD frames",
                  format_count(extended), format_count(remote), format_count(error), format_count(fd));
  if (brs + esi + sent > 0)
    text += fmt::format("; {} with BRS, {} with ESI, {} sent by the recorder", format_count(brs),
                        format_count(esi), format_count(sent));
  if (!channels.empty())
    text +=
        fmt::format("; {}channels: {}", frames.channel.empty() ? "" : "merged ", fmt::join(channels, ", "));
  return text;
}

class FramesInspector : public Inspector {
 public:
  std::string kind() const override { return "frames"; }

  std::vector<CLI::Option*> add_options(CLI::App& verb) override {
    CLI::Option* const j1939 = verb.add_flag("--j1939", j1939_,
                                             "Frames: show the J1939 parameter groups and addresses of "
                                             "29-bit IDs; implied by a DBC with parameter groups");
    CLI::Option* const dbc = verb.add_option(
        "--dbc", dbc_,
        "Frames: show the messages and signals that this DBC names, and the IDs that it does not describe");
    dbc->type_name("FILE");
    return {j1939, dbc};
  }

  void print(const std::string& folder) const override;

  void add_json(const std::string& folder, Json& json) const override {
    if (!j1939_ && dbc_.empty()) return;
    const FramesView view(folder);
    const Dbc dbc = read_dbc();
    if (j1939_ || dbc.has_groups()) json["j1939"] = groups_json(view.frames(), dbc);
    if (!dbc_.empty()) json["dbc"] = dbc_json(view.frames(), dbc);
  }

 private:
  Dbc read_dbc() const { return dbc_.empty() ? Dbc() : read_dbc_with_remarks(dbc_); }

  std::string dbc_;
  bool j1939_ = false;
};

void FramesInspector::print(const std::string& folder) const {
  const FramesView view(folder);
  const Dbc dbc = read_dbc();
  Table table(
      {"<split", "<recording", "frames", "attack", "<kind", "seconds", "<copy of", "<handled on purpose"});
  for (const Recording& recording : view.recordings()) {
    const auto times = view.frames().part(recording.first_frame, recording.frames).time_ns;
    const double seconds = times.empty() || !recording.has_time
                               ? 0
                               : static_cast<double>(*std::max_element(times.begin(), times.end()) -
                                                     *std::min_element(times.begin(), times.end())) /
                                     1e9;
    table.add({recording.split, recording.name, format_count(recording.frames),
               format_count(recording.attack_frames), recording.attack.value_or("-"),
               fmt::format("{:.1f}", seconds), recording.copy_of.value_or(""), traps_text(recording)});
  }
  fmt::print("{}: frames, {} of {} recordings\n{}\n\n{}", folder, format_count(view.frames().size()),
             view.recordings().size(), kinds_text(view), table.text());
  const bool clean = std::all_of(view.recordings().begin(), view.recordings().end(),
                                 [](const Recording& recording) { return traps_text(recording).empty(); });
  if (clean) fmt::print("\nfound no odd payloads, blanks, blank lines, CR LF or decreasing times\n");
  if (j1939_ || dbc.has_groups()) fmt::print("\n{}", group_table(view.frames(), dbc));
  if (!dbc_.empty()) fmt::print("\n{}", dbc_table(view.frames(), dbc));
}

}  // namespace

std::unique_ptr<Inspector> inspector_can() {
  return std::make_unique<FramesInspector>();
}

}  // namespace plimsoll
