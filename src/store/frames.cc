#include "store/frames.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

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
  return {time_ns.subspan(at, n), can_id.subspan(at, n), length.subspan(at, n),
          data.subspan(at * kPayloadBytes, n * kPayloadBytes), label.subspan(at, n)};
}

Json Recording::to_json() const {
  return {{"name", name},
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
}

Recording Recording::from_json(const Json& json, const std::string& where) {
  try {
    return {.name = json.at("name"),
            .split = json.at("split"),
            .source = json.at("source"),
            .bytes = json.at("bytes"),
            .hash = json.at("hash"),
            .channel = optional_text(json.at("channel")),
            .has_time = json.at("has_time"),
            .has_payload = json.at("has_payload"),
            .labelled = json.at("labelled"),
            .attack = optional_text(json.at("attack")),
            .first_frame = json.at("first_frame"),
            .frames = json.at("frames"),
            .attack_frames = json.at("attack_frames"),
            .content = json.at("content"),
            .copy_of = optional_text(json.at("copy_of")),
            .traps = json.at("traps")};
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: {}; the data set is damaged, make it again", where, error.what()));
  }
}

FramesWriter::FramesWriter(const std::filesystem::path& folder, bool replace)
    : set_(folder, replace),
      time_ns_(set_.column<int64_t>("time_ns")),
      can_id_(set_.column<uint32_t>("can_id")),
      length_(set_.column<uint8_t>("length")),
      data_(set_.column<uint8_t>("data", {kPayloadBytes})),
      label_(set_.column<uint8_t>("label")) {}

void FramesWriter::append(const FrameSpans& frames) {
  time_ns_.append(frames.time_ns);
  can_id_.append(frames.can_id);
  length_.append(frames.length);
  data_.append(frames.data);
  label_.append(frames.label);
  // The pieces in which frames arrive must not show in the hash: hash fixed-size rows, not columns of a
  // piece.
  struct Row {
    int64_t time_ns;
    uint64_t data;
    uint32_t can_id;
    uint8_t length;
    uint8_t label;
    uint16_t zero;
  };
  constexpr int64_t kRows = 128;
  std::array<Row, kRows> rows;
  for (int64_t first = 0; first < frames.size(); first += kRows) {
    const FrameSpans part = frames.part(first, std::min(kRows, frames.size() - first));
    const auto count = static_cast<size_t>(part.size());
    for (size_t i = 0; i < count; ++i) {
      uint64_t payload = 0;
      std::copy_n(part.data.begin() + static_cast<int64_t>(i) * kPayloadBytes, kPayloadBytes,
                  reinterpret_cast<uint8_t*>(&payload));
      rows[i] = {part.time_ns[i], payload, part.can_id[i], part.length[i], part.label[i], 0};
    }
    content_.add(rows.data(), count * sizeof(Row));
  }
  frames_ += frames.size();
  attack_frames_ += std::count(frames.label.begin(), frames.label.end(), uint8_t{1});
}

const Recording& FramesWriter::end_recording(Recording recording) {
  recording.first_frame = recorded_;
  recording.frames = frames_ - recorded_;
  recording.attack_frames = attack_frames_;
  recording.content = content_.hex128();
  for (const Recording& earlier : recordings_) {
    if (earlier.content == recording.content && earlier.frames == recording.frames && recording.frames > 0) {
      recording.copy_of = earlier.path();
      break;
    }
  }
  recorded_ = frames_;
  attack_frames_ = 0;
  content_ = Hasher();
  recordings_.push_back(std::move(recording));
  return recordings_.back();
}

void FramesWriter::publish(Json provenance) {
  Json recordings = Json::array();
  for (const Recording& recording : recordings_) recordings.push_back(recording.to_json());
  set_.publish({{"kind", "frames"},
                {"format_version", 0},
                {"frames", frames_},
                {"columns", Json::object()},
                {"recordings", std::move(recordings)},
                {"provenance", std::move(provenance)}});
}

FramesView::FramesView(const std::filesystem::path& folder) : set_(folder, "frames") {
  frames_ = {set_.column<int64_t>("time_ns"), set_.column<uint32_t>("can_id"), set_.column<uint8_t>("length"),
             set_.column<uint8_t>("data", {kPayloadBytes}), set_.column<uint8_t>("label")};
  const auto count = static_cast<size_t>(frames_.size());
  if (frames_.can_id.size() != count || frames_.length.size() != count || frames_.label.size() != count ||
      frames_.data.size() != count * kPayloadBytes)
    throw InputError(folder.string() +
                     ": the columns differ in length; the data set is damaged, make it again");

  const std::string where = (folder / "manifest.json").string() + ": recordings";
  const Json& table = set_.manifest().value("recordings", Json());
  if (!table.is_array()) throw InputError(where + ": missing; the data set is damaged, make it again");
  int64_t next = 0;
  for (const Json& entry : table) {
    recordings_.push_back(Recording::from_json(entry, where));
    const Recording& recording = recordings_.back();
    if (recording.first_frame != next || recording.frames < 0 || recording.frames > frames_.size() - next)
      throw InputError(
          fmt::format("{}: '{}' begins at frame {} with {} frames, expected to begin at {} of {}", where,
                      recording.path(), recording.first_frame, recording.frames, next, frames_.size()));
    next += recording.frames;
  }
  if (next != frames_.size())
    throw InputError(
        fmt::format("{}: they cover {} of {} frames; the data set is damaged", where, next, frames_.size()));
}

}  // namespace plimsoll
