#include "ingest/ingest.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "ingest/ctat_csv.h"
#include "ingest/sources.h"
#include "io/input_stream.h"
#include "io/source_reader.h"

namespace plimsoll {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr size_t kTypicalLine = 32;

// Reads one file in pieces of whole lines.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path)
      : stream_(InputStream::open(path)), buffer_(kPieceBytes) {}

  // The next whole lines; all of the rest, perhaps without a line break, at the end. Empty after that.
  std::string_view next() {
    std::memmove(buffer_.data(), buffer_.data() + used_, filled_ - used_);
    filled_ -= used_;
    const size_t got = stream_->read(buffer_.data() + filled_, buffer_.size() - filled_);
    filled_ += got;
    text_bytes_ += static_cast<int64_t>(got);
    last_ = filled_ < buffer_.size();
    const std::string_view held(buffer_.data(), filled_);
    const size_t newline = held.rfind('\n');
    if (!last_ && newline == std::string_view::npos)
      throw InputError(
          fmt::format("a line is longer than {} bytes: this is not a CAN capture", buffer_.size()));
    used_ = last_ ? filled_ : newline + 1;
    return held.substr(0, used_);
  }
  bool last() const { return last_; }
  int64_t text_bytes() const { return text_bytes_; }
  const InputStream& stream() const { return *stream_; }

 private:
  std::unique_ptr<InputStream> stream_;
  Vector<char, Tag::ingest> buffer_;
  size_t filled_ = 0;
  size_t used_ = 0;
  bool last_ = false;
  int64_t text_bytes_ = 0;
};

Json source_json(const std::string& source, int64_t bytes, const std::string& hash) {
  return {{"source", source}, {"bytes", bytes}, {"hash", hash}};
}

Json ingest_options_json() {
  return {{"format", "ctat-csv"}};
}

// What the sources are now; reads them whole, so it is asked only when an output is already there.
Json hash_sources(const std::vector<CaptureFile>& captures) {
  Json sources = Json::array();
  Vector<char, Tag::ingest> buffer(kPieceBytes);
  for (const CaptureFile& capture : captures) {
    SourceReader reader(capture.path);
    while (reader.read(buffer.data(), buffer.size()) > 0) {
    }
    sources.push_back(source_json(capture.source, reader.bytes_read(), reader.hash()));
  }
  return sources;
}

}  // namespace

IngestResult ingest_can(const IngestOptions& options, const std::function<void(int64_t, int64_t)>& progress) {
  const std::vector<CaptureFile> captures = find_captures(options.sources);
  IngestResult result;
  for (const CaptureFile& capture : captures)
    result.source_bytes += static_cast<int64_t>(std::filesystem::file_size(capture.path));

  if (!options.force && std::filesystem::exists(options.out)) {
    if (find_existing(options.out, make_provenance(hash_sources(captures), ingest_options_json())) ==
        Existing::same) {
      result.already_there = true;
      result.recordings = FramesView(options.out).recordings();
      return result;
    }
    throw Failure(options.out.string() +
                  " exists already and holds something else; give --force to replace it");
  }

  FramesWriter writer(options.out, options.force);
  Json sources = Json::array();
  FrameBatch batch;
  batch.reserve(kPieceBytes / kTypicalLine);
  int64_t done = 0;
  for (const CaptureFile& capture : captures) {
    LineReader lines(capture.path);
    CtatCsvParser parser(capture.path.string());
    do {
      const std::string_view text = lines.next();
      batch.clear();
      parser.parse(text, lines.last(), batch);
      writer.append(batch.spans());
      progress(done + lines.stream().bytes_read(), result.source_bytes);
    } while (!lines.last());
    done += lines.stream().bytes_read();
    result.text_bytes += lines.text_bytes();
    sources.push_back(source_json(capture.source, lines.stream().bytes_read(), lines.stream().source_hash()));
    Recording recording;
    recording.name = capture.name;
    recording.split = capture.split;
    recording.source = capture.source;
    recording.bytes = lines.stream().bytes_read();
    recording.hash = lines.stream().source_hash();
    recording.attack = capture.attack;
    recording.traps = parser.traps().to_json();
    if (writer.end_recording(std::move(recording)).frames == 0)
      throw InputError(capture.path.string() +
                       ": holds no frames; remove it or name the captures one by one");
  }
  result.recordings = writer.recordings();
  writer.publish(make_provenance(std::move(sources), ingest_options_json()));
  return result;
}

}  // namespace plimsoll
