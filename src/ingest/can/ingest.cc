#include "ingest/can/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/units.h"
#include "base/workers.h"
#include "ingest/can/capture_pieces.h"
#include "io/source_reader.h"

namespace plimsoll {
namespace {

Json source_json(const CaptureFile& capture, int64_t bytes, const std::string& hash) {
  return {{"split", capture.split}, {"source", capture.source}, {"bytes", bytes}, {"hash", hash}};
}

// `all`: as in Shard::to_json().
Json options_json(const IngestOptions& options, const std::string& all) {
  Json json = options.format.to_json();
  json["on_error"] = options.skip_errors ? "skip" : "fail";
  if (!options.shard.is_all()) json["shard"] = options.shard.to_json(all);
  return json;
}

// Leaves those that belong to the shard, and says what all of them are: names and sizes.
std::string take_shard(const Shard& shard, std::vector<CaptureFile>& captures) {
  if (shard.is_all()) return "";
  std::vector<int64_t> bytes;
  Hasher all;
  for (const CaptureFile& capture : captures) {
    if (!std::filesystem::is_regular_file(capture.path))
      throw InputError(capture.path.string() + ": is no file, whose size --shard has to know");
    bytes.push_back(static_cast<int64_t>(std::filesystem::file_size(capture.path)));
    const std::string text = source_json(capture, bytes.back(), "").dump();
    all.add(text.data(), text.size());
  }
  const auto [first, end] = shard.items(bytes);
  const auto begin = std::make_move_iterator(captures.begin());
  captures = std::vector<CaptureFile>(begin + static_cast<int64_t>(first), begin + static_cast<int64_t>(end));
  return all.hex64();
}

// What the sources are now; reads them whole, so it is asked only when an output is already there.
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

// How many pieces may be in work at once: the budget decides the speed, not whether it works. A piece and its
// frames take about 2.5 MiB; what a zstd decoder (16 MiB and a little for files up to that size) and the
// writers need stays.
int threads_that_fit(int threads) {
  constexpr int64_t kPieceMemory = 5 * kMiB / 2;
  constexpr int64_t kOther = 18 * kMiB;
  const Ledger& ledger = Ledger::process();
  return static_cast<int>(
      std::clamp<int64_t>((ledger.cap() - ledger.held() - kOther) / kPieceMemory, 1, threads));
}

// Puts parsed pieces, which come in order, together into recordings.
class RecordingAssembler {
 public:
  RecordingAssembler(const std::vector<CaptureFile>& captures, const IngestOptions& options, std::string all)
      : captures_(captures),
        options_(options),
        all_(std::move(all)),
        writer_(options.out, options.force, options.format.payload) {}

  void add(const CapturePiece& piece, ParsedPiece& parsed) {
    const CaptureFile& capture = captures_[piece.capture];
    if (parsed.error) {
      const ParsedPiece::Error& error = *parsed.error;
      throw InputError(fmt::format(
          "{}:{}:{}: found '{}', expected {}{}", capture.path.string(), lines_ + error.line, error.column,
          error.found, error.expected,
          error.cut_off ? "; the file ends inside this line: fetch it again, or remove the line" : ""));
    }
    if (options_.format.benign) label_benign(capture, parsed.frames);
    add_notes(capture, parsed);
    if (piece.format && !piece.format->has_time())
      std::iota(parsed.frames.time_ns.begin(), parsed.frames.time_ns.end(), frames_);
    writer_.append(parsed.frames.spans());
    frames_ += static_cast<int64_t>(parsed.frames.frames());
    lines_ += parsed.lines;
    if (piece.last) end(piece, capture);
  }

  /// Gives the recordings.
  std::vector<Recording> publish() {
    writer_.publish(make_provenance(sources_.take(), options_json(options_, all_)));
    return writer_.take_recordings();
  }

 private:
  static void label_benign(const CaptureFile& capture, FrameBatch& frames) {
    if (std::ranges::find(frames.label, uint8_t{1}) != frames.label.end())
      throw InputError(capture.path.string() +
                       ": holds frames labelled as attacks; leave --benign out, or name other captures");
    std::ranges::fill(frames.label, uint8_t{0});
  }

  void add_notes(const CaptureFile& capture, const ParsedPiece& parsed) {
    notes_.add(parsed.notes);
    for (const int64_t time_ns : parsed.frames.time_ns) {
      notes_.time_runs_back += time_ns < previous_time_;
      previous_time_ = time_ns;
    }
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

  void end(const CapturePiece& piece, const CaptureFile& capture) {
    if (frames_ == 0)
      throw InputError(capture.path.string() +
                       ": holds no frames; remove it or name the captures one by one");
    Recording recording;
    recording.name = capture.name;
    recording.split = capture.split;
    recording.source = capture.source;
    recording.bytes = piece.bytes_read;
    recording.hash = piece.hash;
    if (!piece.facts.channel.empty()) recording.channel = piece.facts.channel;
    recording.has_time = piece.facts.has_time;
    recording.has_payload = piece.facts.has_payload;
    recording.labelled = piece.facts.labelled || options_.format.benign;
    recording.attack = capture.attack;
    recording.traps = notes_.to_json();
    for (const auto& [reason, count] : skipped_) recording.traps["skipped: expected " + reason] = count;
    writer_.end_recording(std::move(recording));
    sources_.push_back(source_json(capture, piece.bytes_read, piece.hash));
    frames_ = 0;
    lines_ = 0;
    notes_ = {};
    skipped_.clear();
    skipped_lines_ = 0;
    previous_time_ = std::numeric_limits<int64_t>::min();
  }

  const std::vector<CaptureFile>& captures_;
  const IngestOptions& options_;
  std::string all_;
  FramesWriter writer_;
  JsonTable sources_;

  // Of the recording under way.
  int64_t frames_ = 0;
  int64_t lines_ = 0;
  LineNotes notes_;
  std::map<std::string, int64_t> skipped_;
  int64_t skipped_lines_ = 0;
  int64_t previous_time_ = std::numeric_limits<int64_t>::min();
};

}  // namespace

IngestResult ingest_can(const IngestOptions& options, const std::function<void(int64_t, int64_t)>& progress) {
  Charge charge(Tag::ingest);
  std::vector<CaptureFile> captures = find_captures(options.sources, charge, options.split);
  const std::string all = take_shard(options.shard, captures);
  IngestResult result;
  bool has_pipe = false;
  for (const CaptureFile& capture : captures) {
    const bool is_file = std::filesystem::is_regular_file(capture.path);
    has_pipe |= !is_file;
    if (is_file) result.source_bytes += static_cast<int64_t>(std::filesystem::file_size(capture.path));
  }

  if (has_pipe && !options.force && std::filesystem::exists(options.out))
    throw InputError(
        fmt::format("{}: there already, and a pipe among the sources can be read only once; give "
                    "--force to replace it",
                    options.out.string()));
  if (!options.force && std::filesystem::exists(options.out)) {
    JsonTable sources = hash_sources(captures);
    if (find_existing(options.out, make_provenance(sources.take(), options_json(options, all))) ==
        Existing::same) {
      result.already_there = true;
      result.recordings = FramesView(options.out).recordings();
      return result;
    }
    throw Failure(options.out.string() +
                  " exists already and holds something else; give --force to replace it");
  }

  RecordingAssembler assembler(captures, options, all);
  CapturePieces pieces(captures, options.format);
  Workers workers(threads_that_fit(options.threads));
  struct Slot {
    CapturePiece piece;
    ParsedPiece parsed;
  };
  std::vector<Slot> slots(static_cast<size_t>(workers.threads()));
  for (Slot& slot : slots) slot.parsed.frames.width = options.format.payload;
  int64_t done = 0;  // bytes of the files before the present one
  workers.run_stream(
      [&](int64_t, int worker) { return pieces.next(slots[static_cast<size_t>(worker)].piece); },
      [&](int64_t, Turn& turn) {
        auto& [piece, parsed] = slots[static_cast<size_t>(turn.worker())];
        parse_piece(piece, options.skip_errors, parsed);
        turn.wait();
        assembler.add(piece, parsed);
        result.text_bytes += piece.unpacked_bytes;
        progress(done + piece.bytes_read, result.source_bytes);
        if (piece.last) done += piece.bytes_read;
      });
  result.recordings = assembler.publish();
  return result;
}

}  // namespace plimsoll
