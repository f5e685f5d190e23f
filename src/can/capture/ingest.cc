#include "can/capture/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/workers.h"
#include "can/capture/capture_chunks.h"
#include "can/capture/channel_spill.h"
#include "can/frames/frames.h"
#include "io/source_reader.h"
#include "store/output.h"

namespace plimsoll {
namespace {

Json source_json(const CaptureFile& capture, int64_t bytes, const std::string& hash) {
  return {{"split", capture.split}, {"source", capture.source}, {"bytes", bytes}, {"hash", hash}};
}

// The options as JSON. `all` is passed to Shard::to_json().
Json options_json(const IngestOptions& options, const std::string& all) {
  Json json = options.format.to_json();
  json["on_error"] = options.skip_errors ? "skip" : "fail";
  if (!options.shard.is_all()) json["shard"] = options.shard.to_json(all);
  return json;
}

// Keeps the captures of the shard. Returns a text that identifies all captures by name and size.
std::string take_shard(const Shard& shard, std::vector<CaptureFile>& captures) {
  if (shard.is_all()) return "";
  std::vector<int64_t> bytes;
  Hasher all;
  for (const CaptureFile& capture : captures) {
    if (!std::filesystem::is_regular_file(capture.path))
      throw InputError(capture.path.string() + ": not a regular file; --shard needs its size");
    bytes.push_back(static_cast<int64_t>(std::filesystem::file_size(capture.path)));
    const std::string text = source_json(capture, bytes.back(), "").dump();
    all.add(text.data(), text.size());
  }
  const auto [first, end] = shard.items(bytes);
  const auto begin = std::make_move_iterator(captures.begin());
  captures = std::vector<CaptureFile>(begin + static_cast<int64_t>(first), begin + static_cast<int64_t>(end));
  return all.hex64();
}

// Hashes the current sources. Reads whole files, so it is called only if an output already exists.
JsonTable hash_sources(const std::vector<CaptureFile>& captures) {
  JsonTable sources;
  Vector<char, Tag::ingest> buffer(1 << 20);
  for (const CaptureFile& capture : captures) {
    SourceReader reader(capture.path);
    while (reader.read(buffer.data(), buffer.size()) > 0) {
    }
    sources.push_back(source_json(capture, reader.bytes_read(), reader.hash()));
  }
  return sources;
}

// Makes a channel's name usable in the name of a recording, which becomes a file name.
std::string file_part(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name;
}

// Assembles parsed chunks, which come in order, into recordings: one per channel of a capture, or one per
// capture.
class RecordingAssembler {
 public:
  RecordingAssembler(const std::vector<CaptureFile>& captures, const IngestOptions& options, std::string all,
                     bool may_be_wider)
      : captures_(captures),
        options_(options),
        may_be_wider_(may_be_wider),
        all_(std::move(all)),
        writer_(options.out, options.force, options.format.payload) {}

  void add(const CaptureChunk& chunk, ParsedChunk& parsed) {
    const CaptureFile& capture = captures_[chunk.capture];
    require_sound(capture, lines_, parsed);
    if (parsed.skipped_too_long && may_be_wider_)
      throw PayloadTooLong(capture.path.string() + ": holds frames of CAN FD");
    if (options_.format.benign) label_benign(capture, parsed.frames);
    add_elapsed(capture.path.string(), chunk, parsed, elapsed_ns_);
    add_notes(capture, parsed);
    if (chunk.format && !chunk.format->has_time())
      std::iota(parsed.frames.time_ns.begin(), parsed.frames.time_ns.end(), frames_);
    if (options_.format.merge_channels)
      add_merged(capture, parsed.frames);
    else
      add_frames(capture, parsed.frames);
    frames_ += static_cast<int64_t>(parsed.frames.frames());
    lines_ += parsed.lines;
    if (chunk.last) end(chunk, capture, parsed.truncation);
  }

  /// Publishes the set and returns the recordings.
  std::vector<Recording> publish() {
    if (writer_.recordings().empty()) throw InputError(without_frames_);
    writer_.publish(make_provenance(sources_.take(), options_json(options_, all_)));
    return writer_.take_recordings();
  }

 private:
  void add_notes(const CaptureFile& capture, const ParsedChunk& parsed) {
    notes_.add(parsed.notes);
    for (const auto& [reason, count] : parsed.skipped) {
      skipped_[reason] += count;
      skipped_lines_ += count;
    }
    if (skipped_lines_ > options_.skip_limit)
      throw InputError(fmt::format(
          "{}: more than {} bad lines (the limit of --skip-limit) up to line {}, most often where "
          "{} was expected",
          capture.path.string(), options_.skip_limit, lines_ + parsed.lines,
          std::max_element(skipped_.begin(), skipped_.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
          })->first));
  }

  // Frames of one channel of the current capture. Frames of its first channel are written directly to the
  // set.
  struct Channel {
    std::string name;
    std::optional<ChannelSpill> spill;
    int64_t previous_time = std::numeric_limits<int64_t>::min();
    int64_t time_runs_back = 0;
  };

  // Appends frames whose channels are renumbered from those of the chunk to those of the capture.
  void add_merged(const CaptureFile& capture, FrameBatch& frames) {
    if (frames.frames() == 0) return;
    if (frames.channel.empty())
      throw InputError(capture.path.string() + ": this format records no channel; remove --merge-channels");
    std::array<uint8_t, kMaxChannels> numbers{};
    for (size_t c = 0; c < frames.channels.size(); ++c)
      numbers.at(c) =
          static_cast<uint8_t>(find_name(capture, options_.format.name_of_channel(frames.channels[c])));
    for (uint8_t& channel : frames.channel) channel = numbers.at(channel);
    if (channels_.empty()) channels_.emplace_back();
    count_back(channels_.front(), frames.spans());
    writer_.append(frames.merged_spans());
  }

  size_t find_name(const CaptureFile& capture, const std::string& name) {
    const auto found = std::ranges::find(merged_, name);
    if (found != merged_.end()) return static_cast<size_t>(found - merged_.begin());
    require_free_channel(capture, merged_.size());
    merged_.push_back(name);
    return merged_.size() - 1;
  }

  static void require_free_channel(const CaptureFile& capture, size_t channels) {
    if (channels == kMaxChannels)
      throw InputError(fmt::format("{}: found more than {} channels; choose one with --channel",
                                   capture.path.string(), kMaxChannels));
  }

  // Appends frames in runs of one channel.
  void add_frames(const CaptureFile& capture, const FrameBatch& frames) {
    const FrameSpans spans = frames.spans();
    if (frames.channel.empty() && frames.frames() > 0) {
      count_back(channels_[find_channel(capture, "")], spans);
      return writer_.append(spans);
    }
    const auto end_of_run = [&](size_t first) {
      size_t end = first + 1;
      while (end < frames.frames() && frames.channel[end] == frames.channel[first]) ++end;
      return end;
    };
    constexpr size_t kNotSeen = kMaxChannels;
    std::array<size_t, kMaxChannels> known;
    known.fill(kNotSeen);
    FrameBatch straight;  // Frames of the first channel, if there are others.
    straight.width = frames.width;
    for (size_t first = 0, end = 0; first < frames.frames(); first = end) {
      end = end_of_run(first);
      size_t& index = known[frames.channel[first]];
      if (index == kNotSeen)
        index =
            find_channel(capture, options_.format.name_of_channel(frames.channels[frames.channel[first]]));
      const FrameSpans run = spans.part(static_cast<int64_t>(first), static_cast<int64_t>(end - first));
      count_back(channels_[index], run);
      if (Channel& channel = channels_[index]; channel.spill)
        channel.spill->add(run);
      else if (run.size() == spans.size())
        writer_.append(run);
      else
        straight.append_frames(run);
    }
    writer_.append(straight.spans());
  }

  static void count_back(Channel& channel, const FrameSpans& frames) {
    int64_t previous = channel.previous_time;
    for (const int64_t time : frames.time_ns) channel.time_runs_back += time < std::exchange(previous, time);
    channel.previous_time = previous;
  }

  size_t find_channel(const CaptureFile& capture, const std::string& name) {
    const auto found = std::ranges::find(channels_, name, &Channel::name);
    if (found != channels_.end()) return static_cast<size_t>(found - channels_.begin());
    require_free_channel(capture, channels_.size());
    Channel& channel = channels_.emplace_back();
    channel.name = name;
    if (channels_.size() > 1) channel.spill.emplace(options_.out, options_.format.payload);
    return channels_.size() - 1;
  }

  void end(const CaptureChunk& chunk, const CaptureFile& capture,
           const std::optional<Truncation>& truncation) {
    if (frames_ == 0 && !truncation)
      throw InputError(capture.path.string() +
                       ": holds no frames; remove it or name the captures one by one");
    if (frames_ == 0)
      without_frames_ =
          fmt::format("{}: is cut off at byte {}, before the first frame; fetch it again, or remove it",
                      capture.path.string(), truncation->at);
    if (truncation && options_.format.warn)
      options_.format.warn(frames_ == 0 ? without_frames_
                                        : truncation_text(capture.path.string(), *truncation, frames_));
    const bool several = channels_.size() > 1;
    for (Channel& channel : channels_) {
      Recording recording;
      recording.name = capture.name;
      if (!channel.name.empty()) recording.channel = channel.name;
      recording.channels = merged_;
      if (several) recording.name.append(1, '@').append(file_part(channel.name));
      recording.split = capture.split;
      recording.source = capture.source;
      recording.bytes = chunk.bytes_read;
      recording.hash = chunk.hash;
      recording.has_time = chunk.facts.has_time;
      recording.has_payload = chunk.facts.has_payload;
      recording.labelled = chunk.facts.labelled || options_.format.benign;
      recording.attack = capture.attack;
      if (truncation) recording.truncated_at = truncation->at;
      notes_.time_runs_back = channel.time_runs_back;
      recording.traps = notes_.to_json();
      for (const auto& [reason, count] : skipped_) recording.traps["skipped: expected " + reason] = count;
      if (channel.spill) channel.spill->take([&](const FrameSpans& frames) { writer_.append(frames); });
      writer_.end_recording(std::move(recording));
      // Notes and skipped lines are reported only in the first recording of a capture.
      notes_ = {};
      skipped_.clear();
    }
    notes_ = {};  // Drops the notes of a capture without frames.
    skipped_.clear();
    sources_.push_back(source_json(capture, chunk.bytes_read, chunk.hash));
    frames_ = 0;
    elapsed_ns_ = 0;
    lines_ = 0;
    skipped_lines_ = 0;
    channels_.clear();
    merged_.clear();
  }

  const std::vector<CaptureFile>& captures_;
  const IngestOptions& options_;
  bool may_be_wider_;  // A frame that is too long ends this attempt, and a wider one follows.
  std::string all_;
  FramesWriter writer_;
  JsonTable sources_;

  std::string without_frames_;  // Message about the last capture that was cut off before its first frame.

  // State of the current recording.
  int64_t frames_ = 0;
  int64_t elapsed_ns_ = 0;
  int64_t lines_ = 0;
  LineNotes notes_;
  std::map<std::string, int64_t> skipped_;
  int64_t skipped_lines_ = 0;
  std::vector<Channel> channels_;    // In the order of their first frames; a single one if they are merged.
  std::vector<std::string> merged_;  // Names of merged channels.
};

// Names must be UTF-8 because they are in the manifest, which is JSON.
void require_utf8_names(const std::vector<CaptureFile>& captures) {
  for (const CaptureFile& capture : captures) try {
      Json({capture.split, capture.source}).dump();
    } catch (const Json::exception&) {
      throw InputError(capture.path.string() + ": its name is not UTF-8; rename it");
    }
}

using Progress = std::function<void(int64_t, int64_t)>;

// `may_be_wider` makes a long payload throw PayloadTooLong even if bad lines are skipped.
IngestResult ingest_with(const IngestOptions& options, bool may_be_wider, const Progress& progress) {
  Charge charge(Tag::ingest);
  std::vector<CaptureFile> captures = find_captures(options.sources, charge, options.split);
  require_utf8_names(captures);
  const std::string all = take_shard(options.shard, captures);
  IngestResult result;
  bool has_pipe = false;
  for (const CaptureFile& capture : captures) {
    const bool is_file = std::filesystem::is_regular_file(capture.path);
    has_pipe |= !is_file;
    if (is_file) result.source_bytes += static_cast<int64_t>(std::filesystem::file_size(capture.path));
  }

  const bool exists = !options.force && std::filesystem::exists(options.out);
  if (has_pipe && exists) {
    require_replaceable(options.out);
    throw InputError(
        fmt::format("{}: already exists, and a pipe among the sources can be read only once; give "
                    "--force to replace it",
                    options.out.string()));
  }
  // Sources are hashed only if there is an output to compare with.
  JsonTable sources = exists ? hash_sources(captures) : JsonTable();
  const Json provenance = make_provenance(sources.take(), options_json(options, all));
  if (is_made_already(options.out, options.force, provenance, options.sources)) {
    result.already_there = true;
    result.recordings = FramesView(options.out).recordings();
    return result;
  }

  RecordingAssembler assembler(captures, options, all, may_be_wider);
  int64_t done = 0;  // Bytes of the files before the current one.
  for_each_chunk(captures, options.format, options.threads, options.skip_errors,
                 [&](const CaptureChunk& chunk, ParsedChunk& parsed) {
                   assembler.add(chunk, parsed);
                   result.text_bytes += chunk.unpacked_bytes;
                   progress(done + chunk.bytes_read, result.source_bytes);
                   if (chunk.last) done += chunk.bytes_read;
                 });
  result.recordings = assembler.publish();
  return result;
}

bool includes_pipe(const std::vector<std::filesystem::path>& sources) {
  return std::ranges::any_of(sources, [](const std::filesystem::path& source) {
    return std::filesystem::exists(source) && !std::filesystem::is_regular_file(source) &&
           !std::filesystem::is_directory(source);
  });
}

// Payload bytes per frame of an existing set at the output; none if there is none. A damaged set is reported
// later, when the existing output is checked.
std::optional<int64_t> payload_of(const std::filesystem::path& set) {
  if (!std::filesystem::exists(set / "manifest.json")) return std::nullopt;
  try {
    const DataSetView view(set);
    if (view.kind() != kFramesKind) return std::nullopt;
    return FramesView(set).frames().width;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

IngestResult ingest_can(const IngestOptions& options, const Progress& progress) {
  if (options.format.payload != kChosenPayload) return ingest_with(options, false, progress);
  IngestOptions chosen = options;
  chosen.format.payload = kPayloadBytes;
  // All shards must have the same width, whichever of them has a long frame.
  if (!options.shard.is_all()) return ingest_with(chosen, false, progress);
  IngestOptions wide = options;
  wide.format.payload = kFdPayloadBytes;
  // A pipe can be read only once.
  if (includes_pipe(options.sources)) return ingest_with(wide, false, progress);
  if (!options.force && payload_of(options.out) == kFdPayloadBytes) return ingest_with(wide, false, progress);
  try {
    return ingest_with(chosen, true, progress);
  } catch (const PayloadTooLong&) {
    return ingest_with(wide, false, progress);
  }
}

}  // namespace plimsoll
