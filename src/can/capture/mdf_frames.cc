#include "can/capture/mdf_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "can/capture/mdf_records.h"

namespace plimsoll {
namespace {

constexpr uint32_t kMaxText = 64;        // Maximum bytes of a payload of variable length.
constexpr size_t kMaxWaiting = 1 << 12;  // Maximum frames that wait for their payloads.

}  // namespace

MdfFrames::MdfFrames(const MdfFile& file, const MdfDataGroup& group)
    : file_(file), group_(group), stream_(file, group.data, "DT", group.last_block) {
  const MdfGroup& first = group_.groups.front();
  is_plain_ = group_.id_bytes == 0 && first.can && !first.can->by_index &&
              (!first.can->data_place || first.can->data_link == 0);
  // Memory of a node of each map.
  charge_.add(3 * 64 * static_cast<int64_t>(group_.groups.size()));
  for (const MdfGroup& kind : group_.groups) {
    by_id_[kind.record_id] = &kind;
    by_place_[kind.at] = &kind;
  }
  for (const MdfGroup& kind : group_.groups) {
    if (!kind.can || !kind.can->data_place || kind.can->data_link == 0) continue;
    bool is_whole = false;
    const std::optional<MdfBlock> texts = file.data_block(kind.can->data_link, is_whole);
    if (texts && texts->id == "##CG") {
      texts_of_[text_group(texts->at)->record_id];
    } else {
      if (text_stream_)
        file.refuse(kind.at, "two groups with payloads of variable length", "one per data group");
      text_stream_.emplace(file, kind.can->data_link, "SD", group.last_block);
      text_window_.emplace(kWindow,
                           [this](char* data, size_t bytes) { return text_stream_->read(data, bytes); });
    }
  }
}

bool MdfFrames::next(Frame& frame) {
  for (;;) {
    if (!waiting_.empty() && waiting_.front().complete) {
      frame = waiting_.front().frame;
      waiting_.pop_front();
      return true;
    }
    // Most frames need not wait, and no earlier frame is waiting.
    direct_ = waiting_.empty() ? &frame : nullptr;
    given_ = false;
    if (!next_record()) {
      if (waiting_.empty()) return false;
      if (!may_end_early()) {
        const uint64_t at = waiting_.front().frame.position;
        file_.refuse(at, "a frame whose payload is not in the file", "the payload");
      }
      // Frames that have their payloads are still returned.
      end_early(0);
      ++lost_frames_;
      waiting_.pop_front();
      continue;
    }
    if (given_) return true;
  }
}

size_t MdfFrames::take_run(size_t max, int64_t latest_ns, const FrameTaker& taker, FrameBatch& out) {
  if (!is_plain_) return 0;
  size_t taken = 0;
  // Runs are short if groups of several buses are merged.
  for (size_t piece = 8;; piece = std::min<size_t>(2 * piece, 1024)) {
    const size_t appended = take_piece(std::min(piece, max - taken), latest_ns, taker, out);
    taken += appended;
    if (appended < piece) return taken;
  }
}

size_t MdfFrames::take_piece(size_t max, int64_t latest_ns, const FrameTaker& taker, FrameBatch& out) {
  const MdfGroup& group = group_.groups.front();
  const std::optional<uint32_t> channel = taker.current_channel(out);
  if (!channel || !window_.have(group.record_bytes)) return 0;
  const size_t records = std::min<uint64_t>(
      {max, window_.held() / group.record_bytes, records_before_zeros(group.record_bytes)});
  const size_t taken = append_records({*group.can, window_.data(), group.record_bytes, records}, *channel,
                                      file_.start_ns(), latest_ns, out);
  window_.drop(taken * group.record_bytes);
  return taken;
}

const MdfGroup* MdfFrames::text_group(uint64_t at) const {
  const auto found = by_place_.find(at);
  if (found == by_place_.end() || !found->second->variable)
    file_.refuse(at, "payloads in a group of other records",
                 "a group of variable length in the same data group");
  return found->second;
}

// Number of records that are complete or start before the zeros at the end of the file.
uint64_t MdfFrames::records_before_zeros(uint64_t bytes) const {
  const auto here = static_cast<uint64_t>(window_.position());
  if (stream_.zeros_from() <= here) return 0;
  return (stream_.zeros_from() - here - 1) / bytes + 1;
}

bool MdfFrames::next_record() {
  if (!window_.have(1)) return stream_.is_cut_off() ? end_early(0) : false;
  if (static_cast<uint64_t>(window_.position()) >= stream_.zeros_from()) return end_early(0);
  const uint64_t block = stream_.block();
  uint64_t id = 0;
  if (group_.id_bytes > 0) {
    if (!window_.have(group_.id_bytes)) return end_within_record(block, 0);
    std::memcpy(&id, window_.data(), group_.id_bytes);
    window_.drop(group_.id_bytes);
  }
  const auto known = group_.id_bytes == 0 ? by_id_.begin() : by_id_.find(id);
  if (known == by_id_.end())
    file_.refuse(block, fmt::format("a record of ID {}", id), "one of a channel group; the file is damaged");
  const MdfGroup& group = *known->second;
  if (group.variable) return take_text(id, block);
  if (!group.can) {
    ++other_records_;
    return window_.pass(group.record_bytes) || end_within_record(block, group_.id_bytes);
  }
  if (!window_.have(group.record_bytes)) return end_within_record(block, group_.id_bytes);
  if (!take_frame(group, window_.data(), block)) return end_early(0);
  window_.drop(group.record_bytes);
  return true;
}

// Handles data that end within a record, of which `passed` bytes were read. Returns false.
bool MdfFrames::end_within_record(uint64_t block, uint64_t passed) {
  if (!may_end_early())
    file_.refuse(block, "data that end within a record", "whole records; fetch the file again");
  return end_early(passed);
}

// Marks the data as cut off: the incomplete part is `passed` bytes plus the remaining bytes of the data, up
// to the end of the file. Returns false.
bool MdfFrames::end_early(uint64_t passed) {
  uint64_t left = passed;
  while (window_.have(1)) {
    left += window_.held();
    window_.drop(window_.held());
  }
  const auto left_out = static_cast<int64_t>(left);
  if (!truncation_) truncation_ = Truncation{static_cast<int64_t>(file_.bytes().size()) - left_out, 0};
  truncation_->left_out += left_out;
  return false;
}

bool MdfFrames::take_text(uint64_t id, uint64_t block) {
  if (!window_.have(4)) return end_within_record(block, group_.id_bytes);
  const auto length = load<uint32_t>(window_.data());
  const auto texts = texts_of_.find(id);
  const uint64_t passed = group_.id_bytes + 4;
  window_.drop(4);
  if (texts == texts_of_.end()) return window_.pass(length) || end_within_record(block, passed);
  if (length > kMaxText) file_.refuse(block, fmt::format("a payload of {} bytes", length), "at most 64");
  if (!window_.have(length)) return end_within_record(block, passed);
  texts->second.held.emplace_back(texts->second.place,
                                  std::vector<uint8_t>(window_.data(), window_.data() + length));
  texts->second.place += 4 + uint64_t{length};
  window_.drop(length);
  if (texts->second.held.size() > kMaxWaiting) drop_text(texts->second);
  fill_waiting();
  return true;
}

// Drops a payload that does not belong to any frame.
void MdfFrames::drop_text(Texts& texts) {
  texts.held.pop_front();
  ++other_records_;
}

// Returns false if the frame's payload is beyond the end of the file.
bool MdfFrames::take_frame(const MdfGroup& group, const uint8_t* record, uint64_t block) {
  const MdfCanGroup& can = *group.can;
  const uint64_t index = can.by_index ? index_of_[group.record_id]++ : 0;
  const bool is_elsewhere = can.kind != MdfCanGroup::Kind::remote && can.data_place && can.data_link != 0;
  if (!is_elsewhere && direct_ != nullptr) {
    fill(can, record, index, block, *direct_);
    given_ = true;
    return true;
  }
  Waiting& waiting = waiting_.emplace_back();
  if (waiting_.size() > kMaxWaiting)
    file_.refuse(block, "frames without their payloads", "each payload within 4,096 frames");
  fill(can, record, index, block, waiting.frame);
  if (!is_elsewhere) return true;
  waiting.place = can.data_place->number(record);
  waiting.length = length_of(can, record, index, (waiting.frame.raw.flags & kFrameFd) != 0);
  if (take_place(can, waiting, block)) return true;
  waiting_.pop_back();
  ++lost_frames_;
  return false;
}

void MdfFrames::fill(const MdfCanGroup& can, const uint8_t* record, uint64_t index, uint64_t block,
                     Frame& frame) const {
  frame.raw = raw_frame(can, record, index, block);
  frame.position = block;
  std::copy_n(frame.raw.data, frame.raw.length, frame.data.begin());
}

// The part of a frame that the record itself holds. The payload points into the record.
RawFrame MdfFrames::raw_frame(const MdfCanGroup& can, const uint8_t* record, uint64_t index,
                              uint64_t block) const {
  RawFrame frame;
  frame.data = record;
  const double seconds = can.time.value(record, index);
  if (!(seconds > -kMdfMaxSeconds && seconds < kMdfMaxSeconds))
    file_.refuse(block, fmt::format("a time of {} s", seconds), "one from -2e9 to 2e9");
  frame.time_ns = file_.start_ns() + mdf_nanoseconds(seconds);
  frame.channel = can.channel ? static_cast<uint32_t>(can.channel->number(record, index)) : 0;
  const auto flag = [&](const std::optional<MdfField>& field, uint8_t bit) {
    return field && field->number(record, index) == 1 ? bit : uint8_t{0};
  };
  frame.flags = flag(can.sent, kFrameSent) | flag(can.fd, kFrameFd) | flag(can.brs, kFrameBrs) |
                flag(can.esi, kFrameEsi);
  const auto id = static_cast<uint32_t>(can.id.number(record, index));
  const bool extended = can.extended ? can.extended->number(record, index) != 0 : (id & kCanExtended) != 0;
  frame.can_id = mdf_can_id(can.kind, id, extended);
  if (can.kind == MdfCanGroup::Kind::remote) return frame;
  if (can.data_place && can.data_link != 0) return frame;
  frame.data = record + can.data_byte;
  frame.length = std::min<size_t>(can.data_bytes, 64);
  if (const std::optional<uint64_t> length = length_of(can, record, index, (frame.flags & kFrameFd) != 0)) {
    if (*length > can.data_bytes || *length > 64)
      file_.refuse(block, fmt::format("a payload of {} bytes", *length),
                   fmt::format("at most the {} of the record", std::min<size_t>(can.data_bytes, 64)));
    frame.length = *length;
  }
  return frame;
}

// The length of the payload. Some writers store the length's code in the place of the length, or only the
// code.
std::optional<uint64_t> MdfFrames::length_of(const MdfCanGroup& can, const uint8_t* record, uint64_t index,
                                             bool fd) {
  if (!can.length && !can.dlc) return std::nullopt;
  const uint64_t length = (can.length ? can.length : can.dlc)->number(record, index);
  const bool is_code = length > 8 && can.dlc && can.dlc->number(record, index) == length;
  // Without a CAN FD flag, space for a longer payload implies CAN FD.
  return is_code ? mdf_length(length, fd || (!can.fd && can.data_bytes > 8)) : length;
}

// Finds the place of the payload. Returns false if it is beyond the end of the file.
bool MdfFrames::take_place(const MdfCanGroup& can, Waiting& waiting, uint64_t block) {
  if (text_stream_) {
    // Texts are stored in the order of the records.
    ByteWindow& window = *text_window_;
    const auto here = static_cast<uint64_t>(window.position());
    const bool is_found = waiting.place >= here && window.pass(waiting.place - here) && window.have(4);
    if (!is_found && waiting.place >= here && text_stream_->is_cut_off()) return false;
    if (!is_found)
      file_.refuse(block, fmt::format("a payload at byte {} of all", waiting.place),
                   "a byte after the previous frame's payload");
    const auto length = load<uint32_t>(window.data());
    const bool is_whole = length <= kMaxText && window.have(4 + length);
    if (!is_whole && length <= kMaxText && text_stream_->is_cut_off()) return false;
    if (!is_whole)
      file_.refuse(text_stream_->block(), fmt::format("a payload of {} bytes", length), "at most 64");
    waiting.frame.raw.length = length;
    std::copy_n(window.data() + 4, length, waiting.frame.data.begin());
    window.drop(4 + length);
    return true;
  }
  waiting.texts = text_group(can.data_link)->record_id;
  waiting.complete = false;
  fill_waiting();
  return true;
}

// Completes waiting frames. Payloads are stored in the order of their frames.
void MdfFrames::fill_waiting() {
  const bool by_order = (file_.left_undone() & MdfFile::kVlsdOffsets) != 0;
  for (Waiting& waiting : waiting_) {
    if (waiting.complete) continue;
    Texts& texts = texts_of_.at(waiting.texts);
    auto& held = texts.held;
    while (!by_order && !held.empty() && held.front().first < waiting.place) drop_text(texts);
    if (held.empty()) continue;
    if (!by_order && held.front().first != waiting.place)
      file_.refuse(waiting.frame.position, fmt::format("a payload at byte {} of all", waiting.place),
                   "the start of a payload");
    const uint64_t length = held.front().second.size();
    if (by_order && waiting.length && *waiting.length != length)
      file_.refuse(waiting.frame.position, fmt::format("a payload of {} bytes", length),
                   fmt::format("{}, as its frame says; the file is damaged", *waiting.length));
    waiting.frame.raw.length = length;
    std::ranges::copy(held.front().second, waiting.frame.data.begin());
    waiting.complete = true;
    held.pop_front();
  }
}

}  // namespace plimsoll
