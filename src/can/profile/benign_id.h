#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "can/profile/behaviour_profile.h"
#include "can/profile/gap_bins.h"

namespace plimsoll {

/// The counts of one ID while a benign profile is learned, frame by frame in order of time. Not thread-safe.
class BenignId {
 public:
  /// Histograms of an ID's single gaps and of its two gaps in a row, by GapBins.
  struct Spans {
    std::array<uint32_t, GapBins::kBins> one{};
    std::array<uint32_t, GapBins::kBins> two{};
  };

  /// Starts another run of frames, of the same recording or of another.
  void begin_run(bool another_recording) {
    seen_ = 0;
    has_last_data_ = false;
    in_recording_ = in_recording_ && !another_recording;
  }
  /// Adds a frame at this time, the `position`th benign frame of its run.
  void add_time(int64_t position, int64_t time_ns, Spans& spans);
  /// Adds the payload of that frame: `data` [kPayloadBytes], zero after `length`.
  void add_payload(uint8_t length, const uint8_t* data);
  /// Computes the profile. `recordings` is the number of all recordings with times; an ID that is missing
  /// from a recording gets no longest gap.
  BehaviourProfile::Id finished(const Spans& spans, int64_t recordings) const;

  // Merging of drives that were counted separately.
  /// Adds the counts of the same ID in another drive. Neither drive continues the other. Errors: InputError
  /// if a sum does not fit.
  void add(const BenignId& other);
  /// Bits of the first eight bytes that changed, in the order of payload_bits(). held_bits() returns the
  /// values of the other bits. Both need payloads() > 0.
  uint64_t changed_bits() const { return __builtin_bswap64(ones_ ^ always_); }
  uint64_t held_bits() const { return __builtin_bswap64(always_); }
  /// Number of payloads added.
  int64_t payloads() const { return payloads_; }
  /// Whether the numbers of these spans match the counted gaps.
  bool has_spans(const Spans& spans) const;
  /// Calls take(number) for each count in a fixed order. for_each_sum() does the same for the sums of gaps.
  template <typename Self, typename Take>
  static void for_each_count(Self& self, const Take& take) {
    for (auto* value : {&self.recordings_, &self.gaps_, &self.two_gaps_, &self.payloads_, &self.pairs_})
      take(*value);
    take(self.longest_still_);
    take(self.ones_);
    take(self.always_);
    for (auto& value : self.lengths_) take(value);
    for (auto& value : self.bytes_) take(value);
    for (auto& value : self.byte_squares_) take(value);
    for (auto& value : self.max_change_) take(value);
    for (auto* steps : {&self.byte_steps_, &self.nibble_steps_})
      for (auto& value : *steps) {
        take(value.step);
        take(value.lead);
        take(value.hits);
      }
  }
  static constexpr int64_t kCounts = 8 + BehaviourProfile::kMaxPayload + 1 + 9 * kPayloadBytes;
  template <typename Self, typename Take>
  static void for_each_sum(Self& self, const Take& take) {
    for (auto* value : {&self.gap_sum_, &self.gap_squares_, &self.gap_ns_}) take(*value);
  }

 private:
  // The most frequent step of a part of a byte from frame to frame, by majority vote (Boyer and Moore,
  // "MJRTY", 1991). The step of a counter has the majority from the first frame to the last.
  struct Steps {
    uint8_t step = 0;
    int64_t lead = 0;
    int64_t hits = 0;

    void add(uint8_t taken);
    void add(const Steps& other);
  };
  struct Seen {
    int64_t position = 0;
    int64_t time_ns = 0;
  };
  void finish_times(const Spans& spans, int64_t recordings, BehaviourProfile::Id& id) const;
  void finish_payload(BehaviourProfile::Id& id) const;

  int32_t seen_ = 0;  // Frames of the run, up to 2.
  bool in_recording_ = false;
  int64_t recordings_ = 0;  // Recordings that have the ID.
  Seen last_;
  Seen before_last_;
  std::array<uint8_t, kPayloadBytes> last_data_{};

  int64_t gaps_ = 0;
  double gap_sum_ = 0;  // Sum of scaled_log().
  double gap_squares_ = 0;
  double gap_ns_ = 0;
  int64_t two_gaps_ = 0;

  int64_t payloads_ = 0;
  std::array<int64_t, BehaviourProfile::kMaxPayload + 1> lengths_{};
  std::array<int64_t, kPayloadBytes> bytes_{};
  std::array<int64_t, kPayloadBytes> byte_squares_{};
  uint64_t ones_ = 0;               // Bits that were ever set.
  uint64_t always_ = ~uint64_t{0};  // Bits that were never clear.
  bool has_last_data_ = false;
  int64_t pairs_ = 0;
  int32_t still_ = 0;  // Frames in a row with this payload.
  int32_t longest_still_ = 0;
  std::array<uint8_t, kPayloadBytes> max_change_{};
  std::array<Steps, kPayloadBytes> byte_steps_{};
  std::array<Steps, kPayloadBytes> nibble_steps_{};  // Steps of the lower half of each byte.
};

}  // namespace plimsoll
