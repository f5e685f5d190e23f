#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/hash.h"
#include "ingest/can/frame_reader.h"
#include "ingest/can/mdf_records.h"
#include "ingest/can/mdf_stream.h"
#include "io/file_ending.h"
#include "memory/charge.h"

namespace plimsoll {
namespace {

constexpr size_t kMdfWindow = 64 << 10;
constexpr uint32_t kMostText = 64;        // bytes of a payload of variable length
constexpr size_t kMostWaiting = 1 << 12;  // frames whose payloads come later

/// The frames of one data group, in the order of its records.
class MdfFrames {
 public:
  struct Frame {
    RawFrame raw;
    uint64_t position = 0;  // the block it is of
    std::array<uint8_t, 64> data{};
  };

  MdfFrames(const MdfFile& file, const MdfDataGroup& group)
      : file_(file), group_(group), stream_(file, group.data, "DT") {
    const MdfGroup& first = group_.groups.front();
    is_plain_ = group_.id_bytes == 0 && first.can && (!first.can->data_place || first.can->data_link == 0);
    // What malloc takes for a node of each map.
    charge_.add(2 * 64 * static_cast<int64_t>(group_.groups.size()));
    for (const MdfGroup& kind : group_.groups) {
      by_id_[kind.record_id] = &kind;
      by_place_[kind.at] = &kind;
    }
    for (const MdfGroup& kind : group_.groups) {
      if (!kind.can || !kind.can->data_place || kind.can->data_link == 0) continue;
      const MdfBlock texts = file.block(kind.can->data_link);
      if (texts.id == "##CG") {
        texts_of_[text_group(texts.at)->record_id];
      } else {
        if (text_stream_)
          file.refuse(kind.at, "two groups with payloads of variable length", "one in a data group");
        text_stream_.emplace(file, texts.at, "SD");
        text_window_.emplace(kMdfWindow,
                             [this](char* data, size_t bytes) { return text_stream_->read(data, bytes); });
      }
    }
  }
  MdfFrames(const MdfFrames&) = delete;
  MdfFrames& operator=(const MdfFrames&) = delete;

  /// The next frame; false at the end.
  bool next(Frame& frame) {
    while (waiting_.empty() || !waiting_.front().complete) {
      // Most frames wait for nothing, and nothing waits before them.
      direct_ = waiting_.empty() ? &frame : nullptr;
      given_ = false;
      if (!next_record()) {
        if (waiting_.empty() || is_unfinished()) return false;
        file_.refuse(waiting_.front().frame.position, "a frame whose payload is not in the file", "it");
      }
      if (given_) return true;
    }
    frame = waiting_.front().frame;
    waiting_.pop_front();
    return true;
  }
  /// Appends the frames that next() would give next, while they are of the channel of the frame before and no
  /// later than `latest_ns`, at most `most`. Of most groups, which hold nothing but records of one kind; of
  /// others none.
  size_t take_run(size_t most, int64_t latest_ns, const FrameTaker& taker, FrameBatch& out) {
    if (!is_plain_) return 0;
    size_t taken = 0;
    // Where groups of several buses are merged, runs are short.
    for (size_t piece = 8;; piece = std::min<size_t>(2 * piece, 1024)) {
      const size_t some = take_piece(std::min(piece, most - taken), latest_ns, taker, out);
      taken += some;
      if (some < piece) return taken;
    }
  }
  int64_t given() const { return stream_.given(); }

 private:
  // A frame, and where its payload is that is not there yet.
  struct Waiting {
    Frame frame;
    bool complete = true;
    uint64_t texts = 0;  // ID of their records
    uint64_t place = 0;
  };
  // Payloads of variable length that came, in order: where the next one is, among all of their records.
  struct Texts {
    uint64_t place = 0;
    std::deque<std::pair<uint64_t, std::vector<uint8_t>>> held;
  };

  size_t take_piece(size_t most, int64_t latest_ns, const FrameTaker& taker, FrameBatch& out) {
    const MdfGroup& group = group_.groups.front();
    const std::optional<uint32_t> channel = taker.goes_on(out);
    if (!channel || !window_.have(group.record_bytes)) return 0;
    const size_t records = std::min(most, window_.held() / group.record_bytes);
    const size_t taken = append_records({*group.can, window_.data(), group.record_bytes, records}, *channel,
                                        file_.start_ns(), latest_ns, out);
    window_.drop(taken * group.record_bytes);
    return taken;
  }

  const MdfGroup* text_group(uint64_t at) const {
    const auto found = by_place_.find(at);
    if (found == by_place_.end() || !found->second->variable)
      file_.refuse(at, "payloads in a group of other records",
                   "one of variable length in the same data group");
    return found->second;
  }

  bool next_record() {
    if (!window_.have(1)) return false;
    const uint64_t block = stream_.block();
    uint64_t id = 0;
    if (group_.id_bytes > 0) {
      if (!window_.have(group_.id_bytes)) return end_early(block);
      std::memcpy(&id, window_.data(), group_.id_bytes);
      window_.drop(group_.id_bytes);
    }
    const auto known = group_.id_bytes == 0 ? by_id_.begin() : by_id_.find(id);
    if (known == by_id_.end()) {
      if (is_unfinished()) return false;
      file_.refuse(block, fmt::format("a record of ID {}", id),
                   "one of a channel group; the file is damaged");
    }
    const MdfGroup& group = *known->second;
    if (group.variable) return take_text(id, block);
    if (!group.can) return window_.pass(group.record_bytes) || end_early(block);
    if (!window_.have(group.record_bytes)) return end_early(block);
    take_frame(*group.can, window_.data(), block);
    window_.drop(group.record_bytes);
    return true;
  }

  // A logger that lost its power ends anywhere.
  bool is_unfinished() const { return file_.left_undone() != 0; }
  bool end_early(uint64_t block) const {
    if (!is_unfinished())
      file_.refuse(block, "data that end within a record", "whole records; fetch the file again");
    return false;
  }

  bool take_text(uint64_t id, uint64_t block) {
    if (!window_.have(4)) return end_early(block);
    const auto length = load<uint32_t>(window_.data());
    const auto texts = texts_of_.find(id);
    window_.drop(4);
    if (texts == texts_of_.end()) return window_.pass(length) || end_early(block);
    if (length > kMostText) file_.refuse(block, fmt::format("a payload of {} bytes", length), "at most 64");
    if (!window_.have(length)) return end_early(block);
    texts->second.held.emplace_back(texts->second.place,
                                    std::vector<uint8_t>(window_.data(), window_.data() + length));
    texts->second.place += 4 + uint64_t{length};
    window_.drop(length);
    if (texts->second.held.size() > kMostWaiting) texts->second.held.pop_front();
    fill_waiting();
    return true;
  }

  void take_frame(const MdfCanGroup& can, const uint8_t* record, uint64_t block) {
    const bool is_elsewhere = can.kind != MdfCanGroup::Kind::remote && can.data_place && can.data_link != 0;
    if (!is_elsewhere && direct_ != nullptr) {
      fill(can, record, block, *direct_);
      given_ = true;
      return;
    }
    Waiting& waiting = waiting_.emplace_back();
    if (waiting_.size() > kMostWaiting)
      file_.refuse(block, "frames whose payloads do not come", "them within 4,096 frames");
    fill(can, record, block, waiting.frame);
    if (!is_elsewhere) return;
    waiting.place = can.data_place->number(record);
    take_place(can, waiting, block);
  }

  void fill(const MdfCanGroup& can, const uint8_t* record, uint64_t block, Frame& frame) const {
    frame.raw = raw_frame(can, record, block);
    frame.position = block;
    std::copy_n(frame.raw.data, frame.raw.length, frame.data.begin());
  }

  // What the record itself holds; the payload lies in it.
  RawFrame raw_frame(const MdfCanGroup& can, const uint8_t* record, uint64_t block) const {
    RawFrame frame;
    frame.data = record;
    const double seconds = can.time.value(record);
    if (!(seconds > -kMdfMostSeconds && seconds < kMdfMostSeconds))
      file_.refuse(block, fmt::format("a time of {} s", seconds), "one from -2e9 to 2e9");
    frame.time_ns = file_.start_ns() + mdf_nanoseconds(seconds);
    frame.channel = can.channel ? static_cast<uint32_t>(can.channel->number(record)) : 0;
    const auto flag = [&](const std::optional<MdfField>& field, uint8_t bit) {
      return field && field->number(record) == 1 ? bit : uint8_t{0};
    };
    frame.flags = flag(can.sent, kFrameSent) | flag(can.fd, kFrameFd) | flag(can.brs, kFrameBrs) |
                  flag(can.esi, kFrameEsi);
    const auto id = can.id.bits == 0 ? 0 : static_cast<uint32_t>(can.id.number(record));
    const bool extended = can.extended ? can.extended->number(record) != 0 : (id & kCanExtended) != 0;
    frame.can_id = mdf_can_id(can.kind, id, extended);
    if (can.kind == MdfCanGroup::Kind::remote) return frame;
    if (can.data_place && can.data_link != 0) return frame;
    frame.data = record + can.data_byte;
    frame.length = std::min<size_t>(can.data_bytes, 64);
    if (can.length) {
      const uint64_t length = can.length->number(record);
      if (length > can.data_bytes || length > 64)
        file_.refuse(block, fmt::format("a payload of {} bytes", length),
                     fmt::format("at most the {} of the record", std::min<size_t>(can.data_bytes, 64)));
      frame.length = length;
    }
    return frame;
  }

  void take_place(const MdfCanGroup& can, Waiting& waiting, uint64_t block) {
    if (text_stream_) {
      // Texts lie in the order of the records.
      ByteWindow& window = *text_window_;
      const auto here = static_cast<uint64_t>(window.position());
      if (waiting.place < here || !window.pass(waiting.place - here) || !window.have(4))
        file_.refuse(block, fmt::format("a payload at byte {} of all", waiting.place),
                     "one after that of the frame before");
      const auto length = load<uint32_t>(window.data());
      if (length > kMostText || !window.have(4 + length))
        file_.refuse(text_stream_->block(), fmt::format("a payload of {} bytes", length), "at most 64");
      waiting.frame.raw.length = length;
      std::copy_n(window.data() + 4, length, waiting.frame.data.begin());
      window.drop(4 + length);
      return;
    }
    waiting.texts = text_group(can.data_link)->record_id;
    waiting.complete = false;
    fill_waiting();
  }

  // Payloads come in the order of the frames that they are of.
  void fill_waiting() {
    const bool by_order = (file_.left_undone() & MdfFile::kVlsdOffsets) != 0;
    for (Waiting& waiting : waiting_) {
      if (waiting.complete) continue;
      auto& held = texts_of_.at(waiting.texts).held;
      while (!by_order && !held.empty() && held.front().first < waiting.place) held.pop_front();
      if (held.empty()) continue;
      if (!by_order && held.front().first != waiting.place)
        file_.refuse(waiting.frame.position, fmt::format("a payload at byte {} of all", waiting.place),
                     "the start of one");
      waiting.frame.raw.length = held.front().second.size();
      std::ranges::copy(held.front().second, waiting.frame.data.begin());
      waiting.complete = true;
      held.pop_front();
    }
  }

  const MdfFile& file_;
  MdfDataGroup group_;
  Charge charge_{Tag::ingest};
  std::map<uint64_t, const MdfGroup*> by_id_;
  std::map<uint64_t, const MdfGroup*> by_place_;  // of its block
  MdfStream stream_;
  ByteWindow window_{kMdfWindow, [this](char* data, size_t bytes) { return stream_.read(data, bytes); }};
  std::optional<MdfStream> text_stream_;
  std::optional<ByteWindow> text_window_;
  std::map<uint64_t, Texts> texts_of_;
  std::deque<Waiting> waiting_;
  Frame* direct_ = nullptr;  // where the next frame may go at once
  bool given_ = false;       // it did
  bool is_plain_ = false;    // records of one kind, with their payloads in them
};

/// All data groups, merged by time.
class Mf4Reader : public FrameReader {
 public:
  Mf4Reader(const std::filesystem::path& path, const FormatOptions& options)
      : file_(path), taker_(options, path.string()) {
    for (const MdfDataGroup& group : find_can_groups(file_)) {
      Source source{std::make_unique<MdfFrames>(file_, group), {}, false};
      source.more = source.frames->next(source.next);
      sources_.push_back(std::move(source));
    }
  }

  bool read(size_t most, FrameBatch& out, LineNotes& notes) override {
    for (size_t i = 0; i < most;) {
      Source* first = nullptr;
      int64_t latest_ns =
          std::numeric_limits<int64_t>::max();  // of frames that come before all of other groups
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
      if (first == nullptr) return false;
      RawFrame frame = first->next.raw;
      frame.data = first->next.data.data();
      taker_.add(frame, static_cast<int64_t>(first->next.position), out, notes);
      i += 1 + first->frames->take_run(most - i - 1, latest_ns, taker_, out);
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

  MdfFile file_;
  FrameTaker taker_;
  Vector<Source, Tag::ingest> sources_;
};

}  // namespace

std::unique_ptr<FrameReader> open_mf4(const std::filesystem::path& path, const FormatOptions& options) {
  if (is_compressed_name(path) || !std::filesystem::is_regular_file(path))
    throw InputError(path.string() + ": MF4 is not read from front to back; decompress it to a file first");
  return std::make_unique<Mf4Reader>(path, options);
}

}  // namespace plimsoll
