#include "can/profile/signal_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "can/profile/benign_payloads.h"

namespace plimsoll {
namespace {

// The range of a signal's values relative to the first one.
struct Range {
  bool any = false;
  uint32_t last = 0;
  int64_t at = 0;  // Sum of all steps since the first value.
  int64_t min = 0;
  int64_t max = 0;
  int64_t ups = 0;
  int64_t downs = 0;

  void add(const Signal& signal, uint32_t value) {
    const int32_t step = any ? signal.step(last, value) : 0;
    any = true;
    last = value;
    at += step;
    min = std::min(min, at);
    max = std::max(max, at);
    ups += step > 0;
    downs += step < 0;
  }
  int64_t size() const { return max - min; }
  bool is_measured() const {
    return size() >= SignalPairs::kMinRange && static_cast<double>(std::min(ups, downs)) >=
                                                   SignalPairs::kMinTurns * static_cast<double>(ups + downs);
  }
};

int32_t on_ring(int64_t value, int bits) {
  const int unused = 32 - bits;
  return static_cast<int32_t>(static_cast<uint32_t>(value) << unused) >> unused;
}

int32_t difference(uint64_t payload, int first, int second, int bits) {
  const auto value = [&](int bit) { return static_cast<int64_t>(payload << bit >> (64 - bits)); };
  return on_ring(value(second) - value(first), bits);
}

// The bits that change in the benign payloads of an ID.
struct Payloads {
  int64_t frames = 0;
  uint64_t first = 0;
  uint64_t changes = 0;  // Bits that differed from the first payload.

  void add(uint64_t payload) {
    if (frames++ == 0) first = payload;
    changes |= payload ^ first;
  }
  // The signal extended by the bits above it that never changed, up to the first bit of its byte.
  Signal widened(Signal signal) const {
    while (signal.first_bit % 8 != 0 && (changes >> (64 - signal.first_bit) & 1) == 0) {
      --signal.first_bit;
      ++signal.bits;
    }
    return signal;
  }
};

// The range of a pair's benign differences relative to the first one.
struct Differences {
  bool any = false;
  int32_t first = 0;
  int64_t min = 0;
  int64_t max = 0;
  int64_t range = 0;  // The smaller range of the two signals.

  void add(int32_t difference, int bits) {
    if (!any) first = difference;
    any = true;
    const int64_t off = on_ring(int64_t{difference} - first, bits);
    min = std::min(min, off);
    max = std::max(max, off);
  }
  bool are_close() const {
    return static_cast<double>(max - min) <= SignalPairs::kMaxSpread * static_cast<double>(range);
  }
  void put(SignalPair& pair) const {
    const int64_t middle = min + (max - min) / 2;
    pair.middle = on_ring(first + middle, pair.bits);
    pair.max = static_cast<int32_t>(std::max(max - middle, middle - min));
  }
};

}  // namespace

int32_t SignalPair::off(uint64_t payload) const {
  return on_ring(int64_t{difference(payload, first, second, bits)} - middle, bits);
}

int32_t SignalPair::around(int64_t value) const {
  return on_ring(value, bits);
}

SignalPairs::SignalPairs(Vector<SignalPair, Tag::columns> pairs, int32_t ids) : pairs_(std::move(pairs)) {
  ranges_.find(this->pairs(), ids);
}

SignalPairs SignalPairs::learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                               const Vocabulary& vocabulary, const SignalModel& signals) {
  const auto each = [&](const auto& take) { for_each_benign_payload(frames, runs, vocabulary, take); };
  Vector<Payloads, Tag::columns> payloads(static_cast<size_t>(vocabulary.size()));
  each([&](int32_t id, uint64_t payload) { payloads[static_cast<size_t>(id)].add(payload); });
  Vector<Signal, Tag::columns> wide;
  for (const Signal& signal : signals.signals())
    wide.push_back(payloads[static_cast<size_t>(signal.id)].widened(signal));

  Vector<Range, Tag::columns> ranges(wide.size());
  each([&](int32_t id, uint64_t payload) {
    for (const Signal& signal : signals.for_id(id)) {
      const auto at = static_cast<size_t>(&signal - signals.signals().data());
      ranges[at].add(wide[at], wide[at].value(payload));
    }
  });

  SignalPairs model;
  Vector<Differences, Tag::columns> differences;
  for (size_t a = 0; a < wide.size(); ++a)
    for (size_t b = a + 1; b < wide.size() && wide[b].id == wide[a].id; ++b) {
      if (wide[a].bits != wide[b].bits || !ranges[a].is_measured() || !ranges[b].is_measured() ||
          payloads[static_cast<size_t>(wide[a].id)].frames < kMinFrames)
        continue;
      model.pairs_.push_back({wide[a].id, wide[a].first_bit, wide[b].first_bit, wide[a].bits});
      differences.push_back({.range = std::min(ranges[a].size(), ranges[b].size())});
    }
  model.ranges_.find(model.pairs(), vocabulary.size());
  each([&](int32_t id, uint64_t payload) {
    for (const SignalPair& pair : model.for_id(id))
      differences[static_cast<size_t>(&pair - model.pairs_.data())].add(
          difference(payload, pair.first, pair.second, pair.bits), pair.bits);
  });
  size_t kept = 0;
  for (size_t p = 0; p < differences.size(); ++p) {
    if (!differences[p].are_close()) continue;
    model.pairs_[kept] = model.pairs_[p];
    differences[p].put(model.pairs_[kept++]);
  }
  model.pairs_.resize(kept);
  model.ranges_.find(model.pairs(), vocabulary.size());
  return model;
}

float SignalPairs::worst(const FrameSpans& frames, const FrameWindow& window,
                         const Vocabulary& vocabulary) const {
  if (pairs_.empty() || !window.recording->has_payload) return 0;
  double worst = 1;  // A ratio; its logarithm is returned.
  const FrameKeys keys = vocabulary.keys(frames, *window.recording);
  for (int64_t f = window.first; f < window.first + window.count; ++f) {
    const auto at = static_cast<size_t>(f);
    const auto its = for_id(vocabulary.index(keys[at]));
    if (its.empty()) continue;
    const uint64_t payload = payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]);
    for (const SignalPair& pair : its)
      worst = std::max(worst, (std::abs(static_cast<double>(pair.off(payload))) + 1) / (pair.max + 1.0));
  }
  return static_cast<float>(std::log2(worst));
}

NamedTensors SignalPairs::tensors() const {
  if (pairs_.empty()) return {};
  Vector<int64_t, Tag::columns> values;
  for (const SignalPair& pair : pairs_)
    values.insert(values.end(), {pair.id, pair.first, pair.second, pair.bits, pair.middle, pair.max});
  return {{"profile.signal_pairs", own_tensor<int64_t>(values, {std::ssize(pairs_), 6})}};
}

SignalPairs SignalPairs::from_tensors(const NamedTensors& tensors, int32_t ids) {
  SignalPairs model;
  if (!tensors.contains("profile.signal_pairs")) return model;
  const auto values = values_of<int64_t>(tensors, "profile.signal_pairs", {-1, 6});
  int64_t id_before = 0;
  for (size_t at = 0; at + 5 < values.size(); at += 6) {
    const auto row = values.subspan(at, 6);
    const int64_t bits = row[3];
    const bool is_number = bits > 0 && bits <= SignalModel::kMaxBits + 7;
    const int64_t half = is_number ? int64_t{1} << (bits - 1) : 0;
    const bool possible = is_number && row[0] >= id_before && row[0] < ids && row[1] >= 0 && row[2] >= 0 &&
                          row[1] <= 64 - bits && row[2] <= 64 - bits && row[4] >= -half && row[4] < half &&
                          row[5] >= 0 && row[5] <= half;
    if (!possible)
      throw InputError(fmt::format(
          "the model's tensor 'profile.signal_pairs' holds an impossible pair in row {}; calibrate it again",
          at / 6));
    id_before = row[0];
    model.pairs_.push_back({static_cast<int32_t>(row[0]), static_cast<uint8_t>(row[1]),
                            static_cast<uint8_t>(row[2]), static_cast<uint8_t>(bits),
                            static_cast<int32_t>(row[4]), static_cast<int32_t>(row[5])});
  }
  model.ranges_.find(model.pairs(), ids);
  return model;
}

}  // namespace plimsoll
