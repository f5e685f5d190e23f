#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "can/capture/frame_reader.h"
#include "can/capture/mdf_groups.h"
#include "can/capture/mdf_stream.h"
#include "memory/charge.h"

namespace plimsoll {

/// The frames of one data group, in the order of its records. Not thread-safe. Errors: those of MdfStream,
/// and InputError for records and payloads that are damaged or missing.
class MdfFrames {
 public:
  struct Frame {
    RawFrame raw;           ///< The frame, except that raw.data is not valid: the payload is in `data`.
    uint64_t position = 0;  ///< Place of the block that holds the frame.
    std::array<uint8_t, 64> data{};
  };

  /// `file` must outlive this object.
  MdfFrames(const MdfFile& file, const MdfDataGroup& group);
  MdfFrames(const MdfFrames&) = delete;
  MdfFrames& operator=(const MdfFrames&) = delete;

  /// Sets `frame` to the next frame. Returns false at the end.
  bool next(Frame& frame);
  /// Appends frames that next() would return next, at most `max`, up to the first that is of another channel
  /// than the last frame of `out` or later than `latest_ns`. It is only faster than next() and may stop
  /// earlier; next() then returns the following frame. Appends nothing if records are of several kinds or do
  /// not hold their payloads. Returns the number of frames appended.
  size_t take_run(size_t max, int64_t latest_ns, const FrameTaker& taker, FrameBatch& out);
  /// Number of bytes of records read so far, after decompression.
  int64_t given() const { return stream_.given(); }
  /// The place at which the data are cut off, if any. Known at the end.
  const std::optional<Truncation>& truncation() const { return truncation_; }
  /// Number of records since the last call that are not frames.
  int64_t take_other_records() { return std::exchange(other_records_, 0); }
  /// Number of frames whose payloads are not in the file.
  int64_t lost_frames() const { return lost_frames_; }

 private:
  // A frame that waits for its payload, and the place of the payload.
  struct Waiting {
    Frame frame;
    bool complete = true;
    uint64_t texts = 0;  // ID of the text records.
    uint64_t place = 0;
    std::optional<uint64_t> length;  // Length stated by the frame.
  };
  // Payloads of variable length read so far, in order. `place` is the place of the next payload among all
  // records.
  struct Texts {
    uint64_t place = 0;
    std::deque<std::pair<uint64_t, std::vector<uint8_t>>> held;
  };

  size_t take_piece(size_t max, int64_t latest_ns, const FrameTaker& taker, FrameBatch& out);
  const MdfGroup* text_group(uint64_t at) const;
  uint64_t records_before_zeros(uint64_t bytes) const;
  bool next_record();
  // Whether the data may end anywhere, as after a power failure of the logger or an interrupted copy.
  bool may_end_early() const { return file_.left_undone() != 0 || stream_.is_cut_off(); }
  bool end_within_record(uint64_t block, uint64_t passed);
  bool end_early(uint64_t passed);
  bool take_text(uint64_t id, uint64_t block);
  void drop_text(Texts& texts);
  bool take_frame(const MdfGroup& group, const uint8_t* record, uint64_t block);
  void fill(const MdfCanGroup& can, const uint8_t* record, uint64_t index, uint64_t block,
            Frame& frame) const;
  RawFrame raw_frame(const MdfCanGroup& can, const uint8_t* record, uint64_t index, uint64_t block) const;
  static std::optional<uint64_t> length_of(const MdfCanGroup& can, const uint8_t* record, uint64_t index,
                                           bool fd);
  bool take_place(const MdfCanGroup& can, Waiting& waiting, uint64_t block);
  void fill_waiting();

  static constexpr size_t kWindow = 64 << 10;

  const MdfFile& file_;
  MdfDataGroup group_;
  Charge charge_{Tag::ingest};
  std::map<uint64_t, const MdfGroup*> by_id_;
  std::map<uint64_t, const MdfGroup*> by_place_;  // Groups by the place of their block.
  MdfStream stream_;
  ByteWindow window_{kWindow, [this](char* data, size_t bytes) { return stream_.read(data, bytes); }};
  std::optional<MdfStream> text_stream_;
  std::optional<ByteWindow> text_window_;
  std::map<uint64_t, Texts> texts_of_;
  std::map<uint64_t, uint64_t> index_of_;  // Index of the next record, by the ID of its group.
  std::deque<Waiting> waiting_;
  Frame* direct_ = nullptr;  // Destination of the next frame, if it can be given at once.
  bool given_ = false;       // The frame was stored in direct_.
  bool is_plain_ = false;    // Records are of one kind, with their payloads in them.
  std::optional<Truncation> truncation_;
  int64_t other_records_ = 0;
  int64_t lost_frames_ = 0;
};

}  // namespace plimsoll
