#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "can/capture/frame_reader.h"
#include "can/capture/mdf_frames.h"
#include "io/file_ending.h"

namespace plimsoll {
namespace {

/// Reads all data groups, merged by time.
class Mf4Reader : public FrameReader {
 public:
  Mf4Reader(const std::filesystem::path& path, const FormatOptions& options)
      : file_(path), taker_(options, path.string()) {
    const MdfCanGroups found = find_can_groups(file_);
    other_records_ = found.other_records;
    if (found.truncated_at) cut_off({static_cast<int64_t>(*found.truncated_at), 0});
    for (const MdfDataGroup& group : found.groups) {
      Source source{std::make_unique<MdfFrames>(file_, group), {}, false};
      source.more = source.frames->next(source.next);
      sources_.push_back(std::move(source));
    }
  }

  bool read(size_t max, FrameBatch& out, LineNotes& notes) override {
    for (size_t i = 0; i < max;) {
      Source* first = nullptr;
      // Frames up to this time come before all frames of other groups.
      int64_t latest_ns = std::numeric_limits<int64_t>::max();
      for (Source& source : sources_) {
        if (!source.more) continue;
        const int64_t time_ns = source.next.raw.time_ns;
        if (first == nullptr || time_ns < first->next.raw.time_ns) {
          if (first != nullptr) latest_ns = std::min(latest_ns, first->next.raw.time_ns - 1);
          first = &source;
        } else {
          latest_ns = std::min(latest_ns, time_ns);
        }
      }
      if (first == nullptr) return end(notes);
      RawFrame frame = first->next.raw;
      frame.data = first->next.data.data();
      taker_.add(frame, static_cast<int64_t>(first->next.position), out, notes);
      i += 1 + first->frames->take_run(max - i - 1, latest_ns, taker_, out);
      first->more = first->frames->next(first->next);
    }
    return true;
  }
  CaptureFacts facts() const override { return {.name = "mf4", .labelled = false}; }
  int64_t bytes_read() const override { return static_cast<int64_t>(file_.bytes().size()); }
  int64_t unpacked_bytes() const override {
    int64_t bytes = 0;
    for (const Source& source : sources_) bytes += source.frames->given();
    return bytes;
  }
  std::string source_hash() const override {
    Hasher hasher;
    hasher.add(file_.bytes().data(), file_.bytes().size());
    return hasher.hex64();
  }

 private:
  struct Source {
    std::unique_ptr<MdfFrames> frames;
    MdfFrames::Frame next;
    bool more;
  };

  void cut_off(const Truncation& at) {
    taker_.allow_cut(at.at);
    if (!truncation_) truncation_ = Truncation{at.at, 0};
    truncation_->at = std::min(truncation_->at, at.at);
    truncation_->left_out += at.left_out;
  }

  // Adds the notes that are known at the end. Returns false.
  bool end(LineNotes& notes) {
    notes.other_records += std::exchange(other_records_, 0);
    for (Source& source : sources_) {
      notes.other_records += source.frames->take_other_records() + source.frames->lost_frames();
      if (source.frames->truncation()) cut_off(*source.frames->truncation());
    }
    return false;
  }

  MdfFile file_;
  FrameTaker taker_;
  Vector<Source, Tag::ingest> sources_;
  int64_t other_records_ = 0;  // Records of data groups without frames.
};

}  // namespace

std::unique_ptr<FrameReader> open_mf4(const std::filesystem::path& path, const FormatOptions& options) {
  if (is_compressed_name(path) || !std::filesystem::is_regular_file(path))
    throw InputError(path.string() + ": MF4 is not read from front to back; decompress it to a file first");
  return std::make_unique<Mf4Reader>(path, options);
}

}  // namespace plimsoll
