#include "can/frames/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "can/frames/merge_frames.h"
#include "can/frames/verify_frames.h"
#include "store/data_kind.h"

namespace plimsoll {
namespace {

const DataKindRegistration kFramesRegistration(
    {.name = kFramesKind,
     .rows = "frames",
     .newest_version = 2,
     .verify = verify_frames,
     .require_sound = [](const std::filesystem::path& folder) { require_sound(FramesView(folder)); },
     .merge = merge_frames});

Json optional_json(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json();
}

std::optional<std::string> optional_text(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional<std::string>(json.get<std::string>());
}

}  // namespace

FrameSpans FrameSpans::part(int64_t first, int64_t count) const {
  const auto at = static_cast<size_t>(first);
  const auto n = static_cast<size_t>(count);
  return {time_ns.subspan(at, n),
          can_id.subspan(at, n),
          length.subspan(at, n),
          data.subspan(at * static_cast<size_t>(width), n * static_cast<size_t>(width)),
          label.subspan(at, n),
          width,
          flags.empty() ? flags : flags.subspan(at, n),
          channel.empty() ? channel : channel.subspan(at, n)};
}

int64_t Recording::heap_bytes() const {
  int64_t held = plimsoll::heap_bytes(traps);
  for (const std::string* text : {&name, &split, &source, &hash, &content})
    held += plimsoll::heap_bytes(*text);
  for (const std::string& of_one : channels)
    held += static_cast<int64_t>(sizeof(std::string)) + plimsoll::heap_bytes(of_one);
  for (const auto* text : {&channel, &attack, &copy_of})
    if (*text) held += plimsoll::heap_bytes(**text);
  return held;
}

Json Recording::to_json() const {
  Json json = {{"name", name},
               {"split", split},
               {"source", source},
               {"bytes", bytes},
               {"hash", hash},
               {"channel", optional_json(channel)},
               {"has_time", has_time},
               {"has_payload", has_payload},
               {"labelled", labelled},
               {"attack", optional_json(attack)},
               {"first_frame", first_frame},
               {"frames", frames},
               {"attack_frames", attack_frames},
               {"content", content},
               {"copy_of", optional_json(copy_of)},
               {"traps", traps}};
  if (!channels.empty()) json["channels"] = channels;
  if (truncated_at) json["truncated_at"] = *truncated_at;
  return json;
}

Recording Recording::from_json(const Json& json, const std::string& where) {
  try {
    return {.name = json.at("name"),
            .split = json.at("split"),
            .source = json.at("source"),
            .bytes = json.at("bytes"),
            .hash = json.at("hash"),
            .channel = optional_text(json.at("channel")),
            .channels = json.value("channels", std::vector<std::string>{}),
            .has_time = json.at("has_time"),
            .has_payload = json.at("has_payload"),
            .labelled = json.at("labelled"),
            .attack = optional_text(json.at("attack")),
            .first_frame = json.at("first_frame"),
            .frames = json.at("frames"),
            .attack_frames = json.at("attack_frames"),
            .content = json.at("content"),
            .copy_of = optional_text(json.at("copy_of")),
            .traps = json.at("traps"),
            .truncated_at = json.contains("truncated_at")
                                ? std::optional(json.at("truncated_at").get<int64_t>())
                                : std::nullopt};
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: {}; the data set is damaged, make it again", where, error.what()));
  }
}

FramesWriter::FramesWriter(const std::filesystem::path& folder, bool replace, int64_t width,
                           FileSystem& files)
    : set_(folder, replace, files),
      width_(width),
      time_ns_(set_.column<int64_t>("time_ns")),
      can_id_(set_.column<uint32_t>("can_id")),
      length_(set_.column<uint8_t>("length")),
      data_(set_.column<uint8_t>("data", {width})),
      label_(set_.column<uint8_t>("label")) {}

void FramesWriter::append_columns(const FrameSpans& frames) {
  time_ns_.append(frames.time_ns);
  can_id_.append(frames.can_id);
  length_.append(frames.length);
  data_.append(frames.data);
  label_.append(frames.label);
  append_flags(frames);
  append_channel(frames);
  frames_ += frames.size();
}

// A set has the column `flags` only if a frame has a flag, so sets without flags keep the bytes they had
// before the column existed.
void FramesWriter::append_flags(const FrameSpans& frames) {
  static constexpr std::array<uint8_t, 4096> kNone = {};
  const auto append_none = [&](int64_t count) {
    for (int64_t done = 0; done < count; done += static_cast<int64_t>(kNone.size()))
      flags_->append(std::span(kNone).first(std::min(kNone.size(), static_cast<size_t>(count - done))));
  };
  if (flags_ == nullptr) {
    if (std::ranges::all_of(frames.flags, [](uint8_t flags) { return flags == 0; })) return;
    flags_ = &set_.column<uint8_t>("flags");
    append_none(frames_);
  }
  if (frames.flags.empty())
    append_none(frames.size());
  else
    flags_->append(frames.flags);
}

// One set cannot hold both kinds of recordings: a graph node is a message of a channel if channels are
// merged, otherwise a message.
void FramesWriter::append_channel(const FrameSpans& frames) {
  if (frames_ == 0 && channel_ == nullptr && !frames.channel.empty())
    channel_ = &set_.column<uint8_t>("channel");
  if (frames.size() > 0 && frames.channel.empty() != (channel_ == nullptr))
    throw InputError(
        "the channels of some recordings are merged and those of others are not; make a separate data set of "
        "each kind");
  if (channel_ != nullptr) channel_->append(frames.channel);
}

void FramesWriter::append(const FrameSpans& frames) {
  append_columns(frames);
  hash_content(frames);
  attack_frames_ += std::count(frames.label.begin(), frames.label.end(), uint8_t{1});
}

// The hash must not depend on how frames are divided into calls of append(), so it is computed over rows and
// not over the columns of one call.
void FramesWriter::hash_content(const FrameSpans& frames) {
  constexpr int64_t kRows = 128;
  constexpr size_t kFixed = sizeof(int64_t) + sizeof(uint32_t) + 2;  // Time, ID, length, label.
  const auto width = static_cast<size_t>(width_);
  const bool merged = !frames.channel.empty();
  std::array<uint8_t, kRows*(kFixed + 64 + 1)> rows;
  for (int64_t first = 0; first < frames.size(); first += kRows) {
    uint8_t* at = rows.data();
    const int64_t last = std::min(first + kRows, frames.size());
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      std::memcpy(at, &frames.time_ns[i], sizeof(int64_t));
      std::memcpy(at + 8, &frames.can_id[i], sizeof(uint32_t));
      at[12] = frames.length[i];
      at[13] = frames.label[i];
      if (width == kPayloadBytes)
        std::memcpy(at + kFixed, &frames.data[i * kPayloadBytes], kPayloadBytes);
      else
        std::memcpy(at + kFixed, &frames.data[i * width], width);
      at += kFixed + width;
      if (merged) *at++ = frames.channel[i];
    }
    content_.add(rows.data(), static_cast<size_t>(at - rows.data()));
  }
}

const Recording& FramesWriter::end_recording(Recording recording) {
  for (const std::string& name : recording.channels) content_.add(name.c_str(), name.size() + 1);
  recording.attack_frames = attack_frames_;
  recording.content = content_.hex128();
  attack_frames_ = 0;
  content_ = Hasher();
  return add(std::move(recording));
}

void FramesWriter::append_recording(const FrameSpans& frames, const Recording& recording) {
  append_columns(frames);
  add(recording);
}

const Recording& FramesWriter::add(Recording recording) {
  recording.first_frame = recorded_;
  recording.frames = frames_ - recorded_;
  recording.copy_of.reset();
  for (const Recording& earlier : recordings_) {
    if (earlier.content == recording.content && earlier.frames == recording.frames && recording.frames > 0) {
      recording.copy_of = earlier.path();
      break;
    }
  }
  recorded_ = frames_;
  // A growing vector holds its old and its new memory at the same time, and publish() makes a JSON row of
  // each recording.
  charge_.add(recording.heap_bytes() + 2 * static_cast<int64_t>(sizeof(Recording)) +
              heap_bytes(recording.to_json()) + 3 * static_cast<int64_t>(sizeof(Json)));
  recordings_.push_back(std::move(recording));
  return recordings_.back();
}

void FramesWriter::publish(Json provenance) {
  Json recordings = Json::array();
  for (const Recording& recording : recordings_) recordings.push_back(recording.to_json());
  Json manifest = {{"kind", kFramesKind},
                   {"format_version", 0},
                   {"frames", frames_},
                   {"columns", Json::object()},
                   {"recordings", std::move(recordings)},
                   {"provenance", std::move(provenance)}};
  // Version 2 prevents readers that do not know the column from treating messages of two channels as one.
  set_.publish(std::move(manifest), channel_ == nullptr ? 1 : 2);
}

FramesView::FramesView(const std::filesystem::path& folder) : set_(folder, kFramesKind) {
  const auto data = set_.columns().find("data");
  const bool wide = data != set_.columns().end() && data->second.shape().shape.size() == 2 &&
                    data->second.shape().shape[1] == 64;
  const int64_t width = wide ? 64 : kPayloadBytes;
  frames_ = {set_.column<int64_t>("time_ns"), set_.column<uint32_t>("can_id"),
             set_.column<uint8_t>("length"),  set_.column<uint8_t>("data", {width}),
             set_.column<uint8_t>("label"),   width};
  if (set_.has_column("flags")) frames_.flags = set_.column<uint8_t>("flags");
  const bool merged = set_.has_column("channel");
  if (merged) frames_.channel = set_.column<uint8_t>("channel");
  const auto count = static_cast<size_t>(frames_.size());
  if (frames_.can_id.size() != count || frames_.length.size() != count || frames_.label.size() != count ||
      frames_.data.size() != count * static_cast<size_t>(width) ||
      (set_.has_column("flags") && frames_.flags.size() != count) ||
      (merged && frames_.channel.size() != count))
    throw InputError(folder.string() +
                     ": the columns differ in length; the data set is damaged, make it again");

  const std::string where = (folder / "manifest.json").string() + ": recordings";
  const auto table = set_.manifest().find("recordings");
  if (table == set_.manifest().end() || !table->is_array())
    throw InputError(where + ": missing; the data set is damaged, make it again");
  charge_.add(static_cast<int64_t>(table->size() * sizeof(Recording)));
  recordings_.reserve(table->size());
  int64_t next = 0;
  for (const Json& entry : *table) {
    recordings_.push_back(Recording::from_json(entry, where));
    const Recording& recording = recordings_.back();
    charge_.add(recording.heap_bytes());
    if (recording.first_frame != next || recording.frames < 0 || recording.frames > frames_.size() - next)
      throw InputError(fmt::format(
          "{}: '{}' begins at frame {} with {} frames, expected to begin at frame {} of {}", where,
          recording.path(), recording.first_frame, recording.frames, next, frames_.size()));
    next += recording.frames;
    const size_t channels = recording.channels.size();
    if (merged ? channels < 1 || channels > kMaxChannels : channels > 0)
      throw InputError(
          fmt::format("{}: '{}' names {} channels, expected {}; the data set is damaged, make it again",
                      where, recording.path(), channels,
                      merged ? fmt::format("1 to {}", kMaxChannels) : "none without a column 'channel'"));
  }
  if (next != frames_.size())
    throw InputError(
        fmt::format("{}: they cover {} of {} frames; the data set is damaged", where, next, frames_.size()));
}

Json FramesView::identity() const {
  return set_.identity();
}

}  // namespace plimsoll
