#include "cli/detection.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ingest/text/characters.h"

namespace plimsoll {

Detection::Detection(Options options, FrameFeed& feed, AlarmLines& lines, DetectCounts& counts,
                     const std::atomic<bool>& stop, std::atomic<bool>& reload)
    : options_(std::move(options)),
      feed_(feed),
      lines_(lines),
      counts_(counts),
      stop_(stop),
      reload_(reload),
      first_(std::make_unique<StreamDetector>(options_.model, options_.detect)) {
  for (const auto& [channel, model] : options_.models) StreamDetector(model, options_.detect);  // is one
}

void Detection::run() {
  FrameBatch batch;
  while (feed_.read(batch)) {
    if (reload_.exchange(false)) load_again();
    take(batch);
    count(batch);
  }
  for (const auto& lane : lanes_) {
    // A window that was cut off by a signal is none that thresholds were chosen for.
    if (!stop_) {
      lane->detector->end();
      judge(*lane);
    }
    if (lane->incidents) lane->incidents->end();
  }
}

std::unique_ptr<StreamDetector> Detection::load(const std::string& channel) const {
  const auto own = options_.models.find(channel);
  return std::make_unique<StreamDetector>(own == options_.models.end() ? options_.model : own->second,
                                          options_.detect);
}

Detection::Lane& Detection::lane_of(const std::string& channel) {
  const std::string name = shown(channel);
  const auto found =
      std::ranges::find_if(lanes_, [&](const auto& lane) { return lane->place.channel == name; });
  if (found != lanes_.end()) return **found;
  if (lanes_.size() == FrameBatch::kMostChannels)
    throw InputError(
        fmt::format("found more than {} channels; choose one with --channel", FrameBatch::kMostChannels));
  Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>());
  lane.place.channel = name;
  lane.detector =
      first_ && lanes_.size() == 1 && !options_.models.contains(channel) ? std::move(first_) : load(channel);
  if (options_.incidents) lane.incidents.emplace(*options_.incidents, name, incident_, options_.tell);
  begin(lane);
  return lane;
}

// What comes next in the channel is another recording.
void Detection::begin(Lane& lane) {
  lane.place.first_window = lane.windows;
  lane.place.first_frame = lane.frames;
  lane.detector->begin(feed_.facts());
  lines_.begin_recording();
}

void Detection::take(const FrameBatch& batch) {
  if (batch.channel.empty()) return take(lane_of(""), batch.spans());
  if (std::ranges::all_of(batch.channel, [&](uint8_t c) { return c == batch.channel.front(); }))
    return take(lane_of(batch.channels[batch.channel.front()]), batch.spans());
  const FrameSpans spans = batch.spans();
  std::array<Lane*, FrameBatch::kMostChannels> lanes{};
  for (size_t i = 0; i < batch.frames(); ++i) {
    Lane*& lane = lanes.at(batch.channel[i]);
    if (lane == nullptr) {
      lane = &lane_of(batch.channels[batch.channel[i]]);
      lane->waiting.width = batch.width;
    }
    lane->waiting.append_frames(spans.part(static_cast<int64_t>(i), 1));
  }
  for (const auto& lane : lanes_) {
    take(*lane, lane->waiting.spans());
    lane->waiting.clear();
  }
}

void Detection::take(Lane& lane, FrameSpans frames) {
  for (;;) {
    const int64_t taken = lane.detector->add(frames);
    judge(lane);
    lane.frames += taken;
    lines_.count_frames(taken);
    if (taken == frames.size()) return;
    lane.detector->end();
    judge(lane);
    if (lane.incidents) lane.incidents->end();
    begin(lane);
    frames = frames.part(taken, frames.size() - taken);
  }
}

void Detection::judge(Lane& lane) {
  Verdict verdict;
  while (lane.detector->next(verdict)) {
    ++lane.windows;
    lines_.add(verdict, *lane.detector, lane.place, feed_.arrived());
    if (lane.incidents) lane.incidents->add(verdict, *lane.detector);
  }
}

// A file that is not fit leaves the detector that is there at work.
void Detection::load_again() {
  try {
    std::vector<std::unique_ptr<StreamDetector>> loaded;
    for (const auto& lane : lanes_) loaded.push_back(load(lane->place.channel));
    if (first_) first_ = std::make_unique<StreamDetector>(options_.model, options_.detect);
    for (size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = *lanes_[i];
      const std::unique_ptr<StreamDetector> before = std::exchange(lane.detector, std::move(loaded[i]));
      const FrameSpans pending = before->pending();
      lane.frames -= pending.size();
      lines_.count_frames(-pending.size());
      begin(lane);
      take(lane, pending);
    }
    ++counts_.reloads;
    fmt::print(stderr, "plimsoll: {}: read again\n", options_.model);
  } catch (const Error& error) {
    fmt::print(stderr, "plimsoll: {}; the detector that was there goes on\n", error.what());
  }
}

void Detection::count(const FrameBatch& batch) {
  counts_.frames = lines_.frames();
  counts_.windows = lines_.windows();
  counts_.alarms = lines_.alarms();
  counts_.malformed = feed_.losses().lines;
  counts_.dropped = feed_.losses().frames;
  counts_.channels = static_cast<int64_t>(lanes_.size());
  if (batch.frames() > 0) counts_.last_frame_ns = batch.time_ns.back();
}

}  // namespace plimsoll
