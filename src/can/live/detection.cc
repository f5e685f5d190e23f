#include "can/live/detection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/shown.h"
#include "can/profile/gap.h"

namespace plimsoll {

Detection::Detection(Options options, FrameFeed& feed, AlarmLines& lines, DetectCounts& counts,
                     const std::atomic<bool>& stop, std::atomic<bool>& reload)
    : options_(std::move(options)),
      feed_(feed),
      lines_(lines),
      counts_(counts),
      stop_(stop),
      reload_(reload),
      first_(std::make_unique<StreamDetector>(options_.model, options_.detect)),
      merged_(!first_->channels().empty()) {
  counts_.set_detector(first_->file_hash());
  if (options_.tick_ns > 0) watch_of(*first_);
  for (const auto& [channel, model] : options_.models)
    if (!StreamDetector(model, options_.detect).channels().empty())
      throw UsageError(fmt::format(
          "--detector {}={}: was made for merged channels, but is to evaluate a single one", channel, model));
}

void Detection::run() {
  FrameBatch batch;
  while (read(batch)) {
    if (reload_.exchange(false)) reload_detectors();
    if (batch.frames() > 0) take(batch);
    if (options_.tick_ns > 0) evaluate_silences(batch);
    count(batch);
  }
  for (const auto& lane : lanes_) {
    // Thresholds are not valid for windows that a stop signal or damage cut off.
    if (stop_ || damage_)
      lane->detector->stop_waiting();
    else
      lane->detector->end();
    evaluate(*lane);
    if (lane->incidents) lane->incidents->end();
  }
}

// An error of the source ends the frames. Incidents are closed and results are printed before the error is
// reported.
bool Detection::read(FrameBatch& batch) {
  try {
    return feed_.read(batch);
  } catch (const InputError&) {
    damage_ = std::current_exception();
  } catch (const Failure&) {
    damage_ = std::current_exception();
  }
  if (lanes_.empty()) throw_damage();  // There are no results to print first.
  return false;
}

std::unique_ptr<StreamDetector> Detection::load(const std::string& channel) const {
  const auto own_model = options_.models.find(channel);
  auto detector = std::make_unique<StreamDetector>(
      own_model == options_.models.end() ? options_.model : own_model->second, options_.detect);
  if (detector->channels().empty() == is_merged(channel))
    throw InputError(
        fmt::format("{}: was made for {}, but the current detector was not; restart `plimsoll detect`",
                    own_model == options_.models.end() ? options_.model : own_model->second,
                    is_merged(channel) ? "single channels" : "merged channels"));
  if (options_.tick_ns > 0) watch_of(*detector);  // Refuse an unsuitable detector before it is used.
  return detector;
}

Detection::Lane& Detection::lane_of(const std::string& channel) {
  const std::string name = is_merged(channel) ? "" : channel;
  const auto found =
      std::ranges::find_if(lanes_, [&](const auto& lane) { return lane->place.channel == name; });
  if (found != lanes_.end()) return **found;
  if (lanes_.size() == kMaxChannels)
    throw InputError(fmt::format("found more than {} channels; choose one with --channel", kMaxChannels));
  Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>());
  lane.place.channel = name;
  lane.detector =
      first_ && lanes_.size() == 1 && !options_.models.contains(name) ? std::move(first_) : load(name);
  if (options_.incidents)
    lane.incidents.emplace(*options_.incidents, name, incident_, counts_, options_.report);
  listen(lane);
  begin(lane);
  return lane;
}

SilenceWatch Detection::watch_of(const StreamDetector& detector) const {
  return {detector.silence(), detector.vocabulary(), options_.tick_ns, detector.threshold()};
}

void Detection::listen(Lane& lane) const {
  if (options_.tick_ns > 0) lane.silence.emplace(watch_of(*lane.detector));
}

// Starts another recording in the channel.
void Detection::begin(Lane& lane) {
  lane.place.first_window = lane.windows;
  lane.place.first_frame = lane.frames;
  lane.detector->begin(feed_.facts());
  lines_.begin_recording();
}

bool Detection::knows(const std::string& channel) {
  const std::vector<std::string>& known = lane_of(channel).detector->channels();
  return std::ranges::find(known, channel) != known.end();
}

void Detection::name_channels(const FrameBatch& batch) {
  for (size_t c = channels_.size(); c < batch.channels.size(); ++c) {
    const std::string& name = channels_.emplace_back(options_.format.name_of_channel(batch.channels[c]));
    if (!is_merged(name) || knows(name)) continue;
    const std::vector<std::string>& known = lane_of(name).detector->channels();
    fmt::print(
        stderr,
        "plimsoll: channel '{}' is not one that the detector was made for ({}): all its IDs are unknown; "
        "give --name-channel {}={} if it is one of them\n",
        name, fmt::join(known, ", "), shown(batch.channels[c]), known.front());
  }
}

// With wrong channel names all IDs are unknown. A detector that is not calibrated then assumes another
// vehicle, of which it expects nothing.
void Detection::require_known_channel() {
  std::vector<std::string> strange;
  for (const std::string& name : channels_) {
    if (!is_merged(name)) continue;
    if (knows(name)) return;
    strange.push_back(name);
  }
  if (!strange.empty())
    throw InputError(fmt::format(
        "found the channels {}, expected some that the detector was made for ({}): all IDs were unknown; "
        "give "
        "--name-channel",
        fmt::join(strange, ", "), fmt::join(lane_of(strange.front()).detector->channels(), ", ")));
}

void Detection::take(const FrameBatch& batch) {
  name_channels(batch);
  if (batch.channel.empty()) return take(lane_of(""), batch.spans());
  const FrameSpans spans = batch.spans();
  const FrameSpans merged = batch.merged_spans();
  std::array<Lane*, kMaxChannels> lanes{};
  bool several = false;
  for (const uint8_t channel : batch.channel) {
    if (lanes.at(channel) == nullptr) lanes.at(channel) = &lane_of(channels_[channel]);
    several |= lanes.at(channel) != lanes.at(batch.channel.front());
  }
  const auto spans_of = [&](const Lane& lane) { return lane.detector->channels().empty() ? spans : merged; };
  if (!several) {
    Lane& lane = *lanes.at(batch.channel.front());
    return take(lane, spans_of(lane));
  }
  for (size_t i = 0; i < batch.frames(); ++i) {
    Lane& lane = *lanes.at(batch.channel[i]);
    lane.waiting.width = batch.width;
    lane.waiting.append_frames(spans_of(lane).part(static_cast<int64_t>(i), 1));
  }
  for (const auto& lane : lanes_) {
    take(*lane, lane->detector->channels().empty() ? lane->waiting.spans() : lane->waiting.merged_spans());
    lane->waiting.clear();
  }
}

void Detection::take(Lane& lane, FrameSpans frames) {
  for (;;) {
    const int64_t until_silence = lane.silence ? lane.silence->add(frames, channels_) : frames.size();
    const int64_t taken = lane.detector->add(frames.part(0, until_silence), channels_);
    evaluate(lane);
    lane.frames += taken;
    lines_.count_frames(taken);
    if (taken == frames.size()) return;
    frames = frames.part(taken, frames.size() - taken);
    if (taken == until_silence) {
      evaluate_silence(lane, frames.time_ns.front());
      continue;
    }
    lane.detector->end();
    evaluate(lane);
    if (lane.incidents) lane.incidents->end();
    begin(lane);
  }
}

void Detection::evaluate_silence(Lane& lane, int64_t now_ns) {
  const std::optional<Silence> silence = lane.silence->until(now_ns);
  if (!silence) return;
  // No frame after the silence can reveal an added frame before it, and results are reported in order of
  // time.
  lane.detector->stop_waiting();
  evaluate(lane);
  lines_.add(*silence, *lane.detector, lane.place);
  if (lane.incidents) lane.incidents->add(*silence, *lane.detector);
}

// Evaluates the silence of channels that have no frame in the batch. If the batch is empty, the feed has
// waited for an interface since the last frames arrived.
void Detection::evaluate_silences(const FrameBatch& batch) {
  for (const int64_t time : batch.time_ns)
    if (!latest_ns_ || time > *latest_ns_ ||
        gap_ns(time, *latest_ns_) > static_cast<uint64_t>(WindowStream::kMaxBack))
      latest_ns_ = time;
  if (!latest_ns_) return;
  int64_t now_ns = *latest_ns_;
  if (batch.frames() == 0) {
    const auto waited = std::chrono::steady_clock::now() - feed_.arrived();
    now_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(waited).count();
  }
  for (const auto& lane : lanes_) evaluate_silence(*lane, now_ns);
}

void Detection::evaluate(Lane& lane) {
  WindowResult result;
  while (lane.detector->next(result)) {
    ++lane.windows;
    lines_.add(result, *lane.detector, lane.place, feed_.arrived());
    if (lane.incidents) lane.incidents->add(result, *lane.detector);
  }
}

// If a file is unsuitable, the current detectors are kept.
void Detection::reload_detectors() {
  try {
    std::vector<std::unique_ptr<StreamDetector>> loaded;
    for (const auto& lane : lanes_) {
      loaded.push_back(load(lane->place.channel));
      loaded.back()->begin(
          feed_.facts());  // Refuses a detector that cannot read this source, before the old one is gone.
    }
    if (first_) {
      first_ = load("");
      counts_.set_detector(first_->file_hash());
    }
    for (size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = *lanes_[i];
      const std::unique_ptr<StreamDetector> before = std::exchange(lane.detector, std::move(loaded[i]));
      if (lane.incidents && lane.detector->file_hash() != before->file_hash()) lane.incidents->end();
      if (!options_.models.contains(lane.place.channel)) counts_.set_detector(lane.detector->file_hash());
      lane.detector->follow(*before);
      const FrameSpans pending = before->pending();
      lane.frames -= pending.size();
      lines_.count_frames(-pending.size());
      listen(lane);
      begin(lane);
      take(lane, pending);
    }
    ++counts_.reloads;
    fmt::print(stderr, "plimsoll: {}: read again\n", options_.model);
  } catch (const Error& error) {
    fmt::print(stderr, "plimsoll: {}; keeping the previous detector\n", error.what());
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
