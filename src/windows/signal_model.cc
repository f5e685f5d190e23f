#include "windows/signal_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "windows/benign_payloads.h"

namespace plimsoll {
namespace {

constexpr int kPayloadBits = 64;
// A bit that flips by so much less often than the one above it begins another signal.
constexpr double kFall = 0.6;
// A signal is compared that changes in so many of the parts of benign traffic: what changes on rare events
// changes otherwise on the next one.
constexpr int kParts = 8;
constexpr int kLivelyParts = 6;

struct Flips {
  int64_t frames = 0;
  std::array<int64_t, kPayloadBits> count{};
};

// Sums over pairs of consecutive steps, of which a line from step to step follows.
struct Line {
  double pairs = 0;
  double first = 0;
  double second = 0;
  double squares = 0;
  double products = 0;
  uint32_t lively = 0;  // parts of the traffic

  void add(double step, double next) {
    pairs += 1;
    first += step;
    second += next;
    squares += step * step;
    products += step * next;
  }
  void put(Signal& signal) const {
    const double spread = pairs * squares - first * first;
    signal.slope = spread > 0 ? std::clamp((pairs * products - first * second) / spread, -1.0, 1.0) : 1;
    signal.offset = (second - signal.slope * first) / pairs;
  }
};

// Calls take(index, payload, earlier payloads of the ID in the run, how many) for each benign frame of a
// known ID.
template <typename Take>
void for_each_payload(const FrameSpans& frames, std::span<const FrameWindow> runs,
                      const Vocabulary& vocabulary, const Take& take) {
  struct Seen {
    std::array<uint64_t, 2> payloads{};  // the last one first
    int count = 0;
  };
  Vector<Seen, Tag::columns> seen(static_cast<size_t>(vocabulary.size()));
  for (const FrameWindow& run : runs) {
    std::ranges::fill(seen, Seen{});
    for_each_benign_payload(frames, {&run, 1}, vocabulary, [&](int32_t id, uint64_t payload) {
      Seen& of = seen[static_cast<size_t>(id)];
      take(id, payload, of.payloads, of.count);
      of = {{payload, of.payloads[0]}, std::min(of.count + 1, 2)};
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
    if (!open || falls || signals.back().bits == SignalModel::kMostBits)
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
  return std::abs(std::remainder(step(middle, value(now)) - expected, std::exp2(bits)));
}

SignalModel SignalModel::learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                               const Vocabulary& vocabulary) {
  Vector<Flips, Tag::columns> flips(static_cast<size_t>(vocabulary.size()));
  for_each_payload(frames, runs, vocabulary,
                   [&](int32_t id, uint64_t payload, const auto& before, int count) {
                     Flips& of = flips[static_cast<size_t>(id)];
                     ++of.frames;
                     if (count == 0) return;
                     for (uint64_t changed = payload ^ before[0]; changed != 0; changed &= changed - 1)
                       ++of.count[static_cast<size_t>(kPayloadBits - 1 - std::countr_zero(changed))];
                   });
  SignalModel model;
  for (int32_t id = 0; id < vocabulary.size(); ++id)
    if (flips[static_cast<size_t>(id)].frames >= kFewest)
      add_signals(id, flips[static_cast<size_t>(id)], model.signals_);
  model.ranges_.find(model.signals(), vocabulary.size());

  Vector<Line, Tag::columns> lines(model.signals_.size());
  Vector<int32_t, Tag::columns> holds(model.signals_.size(), 0);
  Vector<int64_t, Tag::columns> frame_of(flips.size(), 0);
  const auto place = [&](const Signal& signal) {
    return static_cast<size_t>(&signal - model.signals_.data());
  };
  for_each_payload(frames, runs, vocabulary,
                   [&](int32_t id, uint64_t payload, const auto& before, int count) {
                     const auto at = static_cast<size_t>(id);
                     const auto part = static_cast<uint32_t>(frame_of[at]++ * kParts / flips[at].frames);
                     if (count == 0) return;
                     for (const Signal& signal : model.of(id)) {
                       const uint32_t last = signal.value(before[0]);
                       const int32_t step = signal.step(last, signal.value(payload));
                       Line& line = lines[place(signal)];
                       if (step != 0) line.lively |= uint32_t{1} << part;
                       if (count == 2) line.add(signal.step(signal.value(before[1]), last), step);
                     }
                   });
  for (Signal& signal : model.signals_)
    if (const Line& line = lines[place(signal)]; line.pairs > 0) line.put(signal);
  for_each_payload(frames, runs, vocabulary,
                   [&](int32_t id, uint64_t payload, const auto& before, int count) {
                     for (const Signal& signal : model.of(id)) {
                       Signal& mine = model.signals_[place(signal)];
                       const uint32_t value = mine.value(payload);
                       int32_t& hold = holds[place(signal)];
                       hold = count > 0 && value == mine.value(before[0]) ? hold + 1 : 1;
                       if (mine.longest_hold == 0) mine.least = value;
                       mine.longest_hold = std::max(mine.longest_hold, hold);
                       mine.least = std::min(mine.least, value);
                       mine.greatest = std::max(mine.greatest, value);
                       if (count == 2)
                         mine.most = std::max(mine.most, mine.surprise(before[1], before[0], payload));
                     }
                   });
  size_t kept = 0;
  for (size_t s = 0; s < lines.size(); ++s)
    if (lines[s].pairs > 0 && std::popcount(lines[s].lively) >= kLivelyParts)
      model.signals_[kept++] = model.signals_[s];
  model.signals_.resize(kept);
  model.ranges_.find(model.signals(), vocabulary.size());
  return model;
}

NamedTensors SignalModel::tensors() const {
  if (signals_.empty()) return {};
  Vector<int64_t, Tag::columns> places;
  Vector<double, Tag::columns> steps;
  Vector<int64_t, Tag::columns> holds;
  for (const Signal& signal : signals_) {
    holds.insert(holds.end(), {signal.longest_hold, signal.least, signal.greatest});
    places.insert(places.end(), {signal.id, signal.first_bit, signal.bits});
    steps.insert(steps.end(), {signal.slope, signal.offset, signal.most});
  }
  const auto count = static_cast<int64_t>(signals_.size());
  return {{"profile.signal_place", own_tensor<int64_t>(places, {count, 3})},
          {"profile.signal_holds", own_tensor<int64_t>(holds, {count, 3})},
          {"profile.signal_steps", own_tensor<double>(steps, {count, 3})}};
}

SignalModel SignalModel::from_tensors(const NamedTensors& tensors, int32_t ids) {
  SignalModel model;
  if (!tensors.contains("profile.signal_place")) return model;
  const auto places = values_of<int64_t>(tensors, "profile.signal_place", {-1, 3});
  const auto steps =
      values_of<double>(tensors, "profile.signal_steps", {static_cast<int64_t>(places.size() / 3), 3});
  std::span<const int64_t> holds;  // files of earlier versions have none
  if (tensors.contains("profile.signal_holds"))
    holds = values_of<int64_t>(tensors, "profile.signal_holds", {static_cast<int64_t>(places.size() / 3), 3});
  int64_t id_before = 0;
  for (size_t at = 0; at + 2 < places.size(); at += 3) {
    const int64_t id = places[at];
    const int64_t first = places[at + 1];
    const int64_t bits = places[at + 2];
    const bool possible = id >= id_before && id < ids && first >= 0 && bits > 0 && bits <= kMostBits &&
                          first <= kPayloadBits - bits && std::abs(steps[at]) <= 1 &&
                          std::isfinite(steps[at + 1]) && std::isfinite(steps[at + 2]) && steps[at + 2] >= 0;
    const std::array<int64_t, 3> hold =
        holds.empty() ? std::array<int64_t, 3>{} : std::array{holds[at], holds[at + 1], holds[at + 2]};
    const bool can_hold = hold[0] >= 0 && hold[0] <= std::numeric_limits<int32_t>::max() && hold[1] >= 0 &&
                          hold[1] <= hold[2] && hold[2] < int64_t{1} << kMostBits;
    if (!possible || !can_hold)
      throw InputError(fmt::format(
          "the model's tensors 'profile.signal_*' hold an impossible signal in row {}; calibrate it "
          "again",
          at / 3));
    id_before = id;
    model.signals_.push_back({static_cast<int32_t>(id), static_cast<uint8_t>(first),
                              static_cast<uint8_t>(bits), steps[at], steps[at + 1], steps[at + 2],
                              static_cast<int32_t>(hold[0]), static_cast<uint32_t>(hold[1]),
                              static_cast<uint32_t>(hold[2])});
  }
  model.ranges_.find(model.signals(), ids);
  return model;
}

}  // namespace plimsoll
