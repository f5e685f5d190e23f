#include "can/profile/signal_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "can/profile/benign_payloads.h"
#include "can/profile/recent_surprises.h"

namespace plimsoll {
namespace {

constexpr int kPayloadBits = 64;
// A bit starts another signal if it flips less often than this share of the flips of the bit above it.
constexpr double kFall = 0.6;
// Only signals that change in at least kLivelyParts of the kParts parts of benign traffic are kept: a signal
// that changes only at rare events changes differently at each event.
constexpr int kParts = 8;
constexpr int kLivelyParts = 6;

struct Flips {
  int64_t frames = 0;
  std::array<int64_t, kPayloadBits> count{};
};

// Extremes of a signal, frame by frame.
struct Extremes {
  int32_t hold = 0;
  RecentSurprises surprises = {};
  int64_t means = 0;
  double max_mean = 0;

  void add(Signal& signal, uint64_t payload, const std::array<uint64_t, 2>& before, int count) {
    const uint32_t value = signal.value(payload);
    hold = count > 0 && value == signal.value(before[0]) ? hold + 1 : 1;
    if (signal.longest_hold == 0) signal.min = value;
    signal.longest_hold = std::max(signal.longest_hold, hold);
    signal.min = std::min(signal.min, value);
    signal.greatest = std::max(signal.greatest, value);
    if (count == 0) surprises = {};
    if (count < 2) return;
    const double surprise = signal.surprise(before[1], before[0], payload);
    signal.max = std::max(signal.max, surprise);
    surprises.add(surprise);
    if (!surprises.is_full()) return;
    max_mean = std::max(max_mean, surprises.mean(RecentSurprises::kMax));
    if (++means >= SignalModel::kMinMeans) signal.max_mean = max_mean;
  }
};

// Calls take(index, payload, earlier payloads of the ID in the run, their number) for each benign frame of a
// known ID.
template <typename Take>
void for_each_payload(const FrameSpans& frames, std::span<const FrameWindow> runs,
                      const Vocabulary& vocabulary, const Take& take) {
  struct Seen {
    std::array<uint64_t, 2> payloads{};  // The last payload comes first.
    int count = 0;
  };
  Vector<Seen, Tag::columns> seen(static_cast<size_t>(vocabulary.size()));
  for (const FrameWindow& run : runs) {
    std::ranges::fill(seen, Seen{});
    for_each_benign_payload(frames, {&run, 1}, vocabulary, [&](int32_t id, uint64_t payload) {
      Seen& entry = seen[static_cast<size_t>(id)];
      take(id, payload, entry.payloads, entry.count);
      entry = {{payload, entry.payloads[0]}, std::min(entry.count + 1, 2)};
    });
  }
}

void add_signals(int32_t id, const Flips& flips, Vector<Signal, Tag::columns>& signals) {
  bool open = false;
  for (int bit = 0; bit < kPayloadBits; ++bit) {
    const auto at = static_cast<size_t>(bit);
    if (flips.count[at] == 0) {
      open = false;
      continue;
    }
    const bool falls =
        open && static_cast<double>(flips.count[at]) < kFall * static_cast<double>(flips.count[at - 1]);
    if (!open || falls || signals.back().bits == SignalModel::kMaxBits)
      signals.push_back({.id = id, .first_bit = static_cast<uint8_t>(bit)});
    ++signals.back().bits;
    open = true;
  }
}

}  // namespace

uint64_t payload_bits(const uint8_t* data) {
  uint64_t word = 0;
  std::memcpy(&word, data, sizeof(word));
  static_assert(std::endian::native == std::endian::little);
  return __builtin_bswap64(word);
}

double Signal::surprise(uint64_t before_last, uint64_t last, uint64_t now) const {
  const uint32_t middle = value(last);
  const double expected = slope * step(value(before_last), middle) + offset;
  const double error = step(middle, value(now)) - expected;
  // Equals std::remainder(error, ring) to the bit, because the ring is a power of two. The library function
  // would take a twentieth of the time for a window.
  const auto ring = static_cast<double>(uint64_t{1} << bits);
  return std::abs(error - ring * std::rint(error / ring));
}

void SignalLine::add(double step, double next) {
  pairs += 1;
  first += step;
  second += next;
  squares += step * step;
  products += step * next;
  max_step = std::max(max_step, std::abs(step));
}

void SignalLine::add(const SignalLine& other) {
  pairs += other.pairs;
  first += other.first;
  second += other.second;
  squares += other.squares;
  products += other.products;
  max_step = std::max(max_step, other.max_step);
}

void SignalLine::put(Signal& signal) const {
  const double spread = pairs * squares - first * first;
  signal.slope = spread > 0 ? std::clamp((pairs * products - first * second) / spread, -1.0, 1.0) : 1;
  signal.offset = (second - signal.slope * first) / pairs;
}

SignalModel::SignalModel(Vector<Signal, Tag::columns> signals, int32_t ids) : signals_(std::move(signals)) {
  ranges_.find(this->signals(), ids);
}

SignalModel SignalModel::learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                               const Vocabulary& vocabulary, Vector<SignalLine, Tag::columns>& lines) {
  Vector<Flips, Tag::columns> flips(static_cast<size_t>(vocabulary.size()));
  for_each_payload(frames, runs, vocabulary,
                   [&](int32_t id, uint64_t payload, const auto& before, int count) {
                     Flips& entry = flips[static_cast<size_t>(id)];
                     ++entry.frames;
                     if (count == 0) return;
                     for (uint64_t changed = payload ^ before[0]; changed != 0; changed &= changed - 1)
                       ++entry.count[static_cast<size_t>(kPayloadBits - 1 - std::countr_zero(changed))];
                   });
  SignalModel model;
  for (int32_t id = 0; id < vocabulary.size(); ++id)
    if (flips[static_cast<size_t>(id)].frames >= kMinFrames)
      add_signals(id, flips[static_cast<size_t>(id)], model.signals_);
  model.ranges_.find(model.signals(), vocabulary.size());

  lines.assign(model.signals_.size(), {});
  // Parts of the traffic in which each signal changes.
  Vector<uint32_t, Tag::columns> lively(model.signals_.size(), 0);
  Vector<int64_t, Tag::columns> frame_of(flips.size(), 0);
  const auto place = [&](const Signal& signal) {
    return static_cast<size_t>(&signal - model.signals_.data());
  };
  for_each_payload(frames, runs, vocabulary,
                   [&](int32_t id, uint64_t payload, const auto& before, int count) {
                     const auto at = static_cast<size_t>(id);
                     const auto part = static_cast<uint32_t>(frame_of[at]++ * kParts / flips[at].frames);
                     if (count == 0) return;
                     for (const Signal& signal : model.for_id(id)) {
                       const uint32_t last = signal.value(before[0]);
                       const int32_t step = signal.step(last, signal.value(payload));
                       if (step != 0) lively[place(signal)] |= uint32_t{1} << part;
                       if (count == 2)
                         lines[place(signal)].add(signal.step(signal.value(before[1]), last), step);
                     }
                   });
  for (Signal& signal : model.signals_)
    if (const SignalLine& line = lines[place(signal)]; line.pairs > 0) line.put(signal);
  Vector<Extremes, Tag::columns> extremes(model.signals_.size());
  for_each_payload(frames, runs, vocabulary,
                   [&](int32_t id, uint64_t payload, const auto& before, int count) {
                     for (const Signal& signal : model.for_id(id))
                       extremes[place(signal)].add(model.signals_[place(signal)], payload, before, count);
                   });
  size_t kept = 0;
  for (size_t s = 0; s < lines.size(); ++s)
    if (lines[s].pairs > 0 && std::popcount(lively[s]) >= kLivelyParts) {
      lines[kept] = lines[s];
      model.signals_[kept++] = model.signals_[s];
    }
  model.signals_.resize(kept);
  lines.resize(kept);
  model.ranges_.find(model.signals(), vocabulary.size());
  return model;
}

NamedTensors SignalModel::tensors() const {
  if (signals_.empty()) return {};
  Vector<int64_t, Tag::columns> places;
  Vector<double, Tag::columns> steps;
  Vector<int64_t, Tag::columns> holds;
  Vector<double, Tag::columns> means;
  for (const Signal& signal : signals_) {
    means.push_back(signal.max_mean);
    holds.insert(holds.end(), {signal.longest_hold, signal.min, signal.greatest});
    places.insert(places.end(), {signal.id, signal.first_bit, signal.bits});
    steps.insert(steps.end(), {signal.slope, signal.offset, signal.max});
  }
  const auto count = static_cast<int64_t>(signals_.size());
  return {{"profile.signal_place", own_tensor<int64_t>(places, {count, 3})},
          {"profile.signal_holds", own_tensor<int64_t>(holds, {count, 3})},
          {"profile.signal_means", own_tensor<double>(means, {count})},
          {"profile.signal_steps", own_tensor<double>(steps, {count, 3})}};
}

SignalModel SignalModel::from_tensors(const NamedTensors& tensors, int32_t ids) {
  SignalModel model;
  if (!tensors.contains("profile.signal_place")) return model;
  const auto places = values_of<int64_t>(tensors, "profile.signal_place", {-1, 3});
  const auto rows = static_cast<int64_t>(places.size() / 3);
  const auto steps = values_of<double>(tensors, "profile.signal_steps", {rows, 3});
  // Files of earlier versions do not have these two tensors.
  std::span<const int64_t> holds;
  if (tensors.contains("profile.signal_holds"))
    holds = values_of<int64_t>(tensors, "profile.signal_holds", {rows, 3});
  std::span<const double> means;
  if (tensors.contains("profile.signal_means"))
    means = values_of<double>(tensors, "profile.signal_means", {rows});
  int64_t id_before = 0;
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    const size_t at = 3 * row;
    const int64_t id = places[at];
    const int64_t first = places[at + 1];
    const int64_t bits = places[at + 2];
    bool possible = id >= id_before && id < ids && first >= 0 && bits > 0 && bits <= kMaxBits &&
                    first <= kPayloadBits - bits && std::abs(steps[at]) <= 1 &&
                    std::isfinite(steps[at + 1]) && std::isfinite(steps[at + 2]) && steps[at + 2] >= 0;
    if (!holds.empty())
      possible = possible && holds[at] >= 0 && holds[at] <= std::numeric_limits<int32_t>::max() &&
                 holds[at + 1] >= 0 && holds[at + 1] <= holds[at + 2] &&
                 holds[at + 2] < int64_t{1} << kMaxBits;
    if (!means.empty()) possible = possible && std::isfinite(means[row]);
    if (!possible)
      throw InputError(fmt::format(
          "the model's tensors 'profile.signal_*' hold an impossible signal in row {}; calibrate it again",
          row));
    id_before = id;
    Signal& signal = model.signals_.emplace_back(Signal{.id = static_cast<int32_t>(id),
                                                        .first_bit = static_cast<uint8_t>(first),
                                                        .bits = static_cast<uint8_t>(bits),
                                                        .slope = steps[at],
                                                        .offset = steps[at + 1],
                                                        .max = steps[at + 2]});
    if (!holds.empty()) {
      signal.longest_hold = static_cast<int32_t>(holds[at]);
      signal.min = static_cast<uint32_t>(holds[at + 1]);
      signal.greatest = static_cast<uint32_t>(holds[at + 2]);
    }
    if (!means.empty()) signal.max_mean = means[row];
  }
  model.ranges_.find(model.signals(), ids);
  return model;
}

}  // namespace plimsoll
