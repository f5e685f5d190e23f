#include "can/profile/benign_id.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "can/profile/add_count.h"

namespace plimsoll {
namespace {

constexpr uint8_t kNibble = 0x0F;

uint64_t payload_word(const uint8_t* data) {
  uint64_t word = 0;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

double deviation_of(double mean, double mean_of_squares) {
  return std::sqrt(std::max(mean_of_squares - mean * mean, 0.0));
}

}  // namespace

void BenignId::Steps::add(uint8_t taken) {
  if (lead == 0) {
    step = taken;
    hits = 0;
  }
  lead += taken == step ? 1 : -1;
  hits += taken == step;
}

// Votes for different steps cancel out. For a counter, which has nearly all votes, the result is the same as
// if both drives had been counted in sequence.
void BenignId::Steps::add(const Steps& other) {
  if (step == other.step) {
    add_count(lead, other.lead);
    add_count(hits, other.hits);
  } else if (lead < other.lead || hits == 0) {
    *this = {other.step, other.lead - lead, other.hits};
  } else {
    lead -= other.lead;
  }
}

void BenignId::add(const BenignId& other) {
  add_count(recordings_, other.recordings_);
  add_count(gaps_, other.gaps_);
  gap_sum_ += other.gap_sum_;
  gap_squares_ += other.gap_squares_;
  gap_ns_ += other.gap_ns_;
  add_count(two_gaps_, other.two_gaps_);
  add_count(payloads_, other.payloads_);
  add_count(pairs_, other.pairs_);
  ones_ |= other.ones_;
  always_ &= other.always_;
  longest_still_ = std::max(longest_still_, other.longest_still_);
  for (size_t length = 0; length < lengths_.size(); ++length)
    add_count(lengths_[length], other.lengths_[length]);
  for (size_t k = 0; k < kPayloadBytes; ++k) {
    add_count(bytes_[k], other.bytes_[k]);
    add_count(byte_squares_[k], other.byte_squares_[k]);
    max_change_[k] = std::max(max_change_[k], other.max_change_[k]);
    byte_steps_[k].add(other.byte_steps_[k]);
    nibble_steps_[k].add(other.nibble_steps_[k]);
  }
}

bool BenignId::has_spans(const Spans& spans) const {
  const auto count = [](const auto& bins) { return std::accumulate(bins.begin(), bins.end(), int64_t{0}); };
  return count(spans.one) == gaps_ && count(spans.two) == two_gaps_;
}

void BenignId::add_time(int64_t position, int64_t time_ns, Spans& spans) {
  const auto near = [&](const Seen& seen) { return position - seen.position <= BehaviourProfile::kLookBack; };
  if (seen_ > 0 && near(last_)) {
    const auto ns = static_cast<double>(plimsoll::gap_ns(last_.time_ns, time_ns));
    const double gap = scaled_log(ns);
    ++gaps_;
    gap_sum_ += gap;
    gap_squares_ += gap * gap;
    gap_ns_ += ns;
    ++spans.one[GapBins::bin_of(GapBins::gap_of(last_.time_ns, time_ns))];
  }
  if (seen_ > 1 && near(before_last_)) {
    ++two_gaps_;
    ++spans.two[GapBins::bin_of(GapBins::gap_of(before_last_.time_ns, time_ns))];
  }
  recordings_ += !in_recording_;
  in_recording_ = true;
  before_last_ = last_;
  last_ = {position, time_ns};
  seen_ = std::min(seen_ + 1, 2);
}

void BenignId::add_payload(uint8_t length, const uint8_t* data) {
  ++payloads_;
  ++lengths_[std::min<size_t>(length, BehaviourProfile::kMaxPayload)];
  ones_ |= payload_word(data);
  always_ &= payload_word(data);
  const bool pair = has_last_data_;
  pairs_ += pair;
  const bool same = pair && std::equal(last_data_.begin(), last_data_.end(), data);
  still_ = same ? still_ + 1 : 1;
  longest_still_ = std::max(longest_still_, still_);
  for (size_t k = 0; k < kPayloadBytes; ++k) {
    bytes_[k] += data[k];
    byte_squares_[k] += data[k] * data[k];
    if (!pair) continue;
    const uint8_t old = last_data_[k];
    max_change_[k] =
        std::max(max_change_[k], static_cast<uint8_t>(std::max(data[k], old) - std::min(data[k], old)));
    byte_steps_[k].add(static_cast<uint8_t>(data[k] - old));
    nibble_steps_[k].add((data[k] - old) & kNibble);
  }
  std::copy_n(data, kPayloadBytes, last_data_.begin());
  has_last_data_ = true;
}

void BenignId::finish_times(const Spans& spans, int64_t recordings, BehaviourProfile::Id& id) const {
  if (gaps_ < BehaviourProfile::kMinSamples) return;
  const auto count = static_cast<double>(gaps_);
  id.has_gaps = true;
  id.gap_mean = gap_sum_ / count;
  const double deviation = deviation_of(id.gap_mean, gap_squares_ / count);
  id.gap_units = 1.0 / std::max(deviation, BehaviourProfile::kMinGapDeviation);

  const double period = gap_ns_ / count;
  if (two_gaps_ < BehaviourProfile::kMinSamplesToExpect || period > BehaviourProfile::kLongestPeriod) return;
  const auto beyond = [](int64_t total) {
    return static_cast<int64_t>(BehaviourProfile::kBeyond * static_cast<double>(total));
  };
  const int64_t min = GapBins::min_of(GapBins::bin_at(spans.two, beyond(two_gaps_)));
  // GapBins does not distinguish the shortest spans from a span of 0.
  if (min > GapBins::kShortest && static_cast<double>(min) > BehaviourProfile::kMinRegularity * 2 * period)
    id.min_two_gaps = min;
  // If there are several vehicles, a vehicle need not send the IDs of the others.
  if (recordings_ < recordings) return;
  const int64_t longest = GapBins::min_of(GapBins::bin_at(spans.one, gaps_ - 1 - beyond(gaps_)) + 1);
  if (static_cast<double>(longest) <= BehaviourProfile::kMaxIrregularity * period) id.longest_gap = longest;
}

void BenignId::finish_payload(BehaviourProfile::Id& id) const {
  if (payloads_ < BehaviourProfile::kMinSamples) return;
  const auto count = static_cast<double>(payloads_);
  id.has_payload = true;
  id.length = static_cast<uint8_t>(std::ranges::max_element(lengths_) - lengths_.begin());
  for (size_t k = 0; k < kPayloadBytes; ++k) {
    const double mean = static_cast<double>(bytes_[k]) / count;
    id.byte_mean[k] = mean / 255.0;
    const double deviation = deviation_of(mean, static_cast<double>(byte_squares_[k]) / count) / 255.0;
    id.byte_units[k] = 1.0 / std::max(deviation, BehaviourProfile::kMinByteDeviation);
  }
  if (pairs_ < BehaviourProfile::kMinSamplesToExpect) return;
  id.has_expectations = true;
  id.fixed_bits = ~(ones_ ^ always_);
  id.fixed_value = always_ & id.fixed_bits;
  id.max_change = max_change_;
  if (longest_still_ < BehaviourProfile::kStandsStill) id.longest_still = longest_still_;
  const auto counts = [&](const Steps& steps) {
    return steps.step != 0 &&
           static_cast<double>(steps.hits) >= BehaviourProfile::kCounterShare * static_cast<double>(pairs_);
  };
  for (size_t k = 0; k < kPayloadBytes; ++k) {
    const bool whole = counts(byte_steps_[k]);
    if (!whole && !counts(nibble_steps_[k])) continue;
    id.counter_mask[k] = whole ? 0xFF : kNibble;
    id.counter_step[k] = whole ? byte_steps_[k].step : nibble_steps_[k].step;
  }
}

BehaviourProfile::Id BenignId::finished(const Spans& spans, int64_t recordings) const {
  BehaviourProfile::Id id;
  finish_times(spans, recordings, id);
  finish_payload(id);
  return id;
}

}  // namespace plimsoll
