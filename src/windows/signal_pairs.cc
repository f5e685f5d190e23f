#include "windows/signal_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "windows/behaviour_profile.h"

namespace plimsoll {
namespace {

// A signal with the bits above it, up to the byte's first, that never changed.
Signal widened(const Signal& signal, uint64_t changes) {
  Signal wide = signal;
  while (wide.first_bit % 8 != 0 && (changes >> (64 - wide.first_bit) & 1) == 0) {
    --wide.first_bit;
    ++wide.bits;
  }
  return wide;
}

// How the values of a signal lie about the first one.
struct Range {
  bool any = false;
  uint32_t last = 0;
  int64_t at = 0;  // from the first one, by steps
  int64_t least = 0;
  int64_t most = 0;
  int64_t ups = 0;
  int64_t downs = 0;

  void add(const Signal& signal, uint32_t value) {
    const int32_t step = any ? signal.step(last, value) : 0;
    any = true;
    last = value;
    at += step;
    least = std::min(least, at);
    most = std::max(most, at);
    ups += step > 0;
    downs += step < 0;
  }
  int64_t size() const { return most - least; }
  bool is_measured() const {
    return size() >= SignalPairs::kLeastRange &&
           static_cast<double>(std::min(ups, downs)) >=
               SignalPairs::kLeastTurns * static_cast<double>(ups + downs);
  }
};

struct Differences {
  bool any = false;
  int32_t first = 0;
  int64_t least = 0;
  int64_t most = 0;
};

// Calls take(index, payload) for each benign frame of a known ID.
template <typename Take>
void for_each_known(const FrameSpans& frames, std::span<const FrameWindow> runs, const Vocabulary& vocabulary,
                    const Take& take) {
  for (const FrameWindow& run : runs) {
    if (!run.recording->has_payload) continue;
    for (int64_t f = run.first; f < run.first + run.count; ++f) {
      const auto at = static_cast<size_t>(f);
      const int32_t id = vocabulary.index(frames.can_id[at]);
      if (id == vocabulary.size() || frames.label[at] == 1) continue;
      take(id, payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]));
    }
  }
}

int32_t on_ring(int64_t value, int bits) {
  const int unused = 32 - bits;
  return static_cast<int32_t>(static_cast<uint32_t>(value) << unused) >> unused;
}

int32_t difference(uint64_t payload, int first, int second, int bits) {
  const auto value = [&](int bit) { return static_cast<int64_t>(payload << bit >> (64 - bits)); };
  return on_ring(value(second) - value(first), bits);
}

}  // namespace

int32_t SignalPair::off(uint64_t payload) const {
  return on_ring(int64_t{difference(payload, first, second, bits)} - middle, bits);
}

SignalPairs SignalPairs::learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                               const Vocabulary& vocabulary, const SignalModel& signals) {
  struct Seen {
    int64_t frames = 0;
    uint64_t first = 0;
    uint64_t changes = 0;
  };
  Vector<Seen, Tag::columns> seen(static_cast<size_t>(vocabulary.size()));
  for_each_known(frames, runs, vocabulary, [&](int32_t id, uint64_t payload) {
    Seen& of = seen[static_cast<size_t>(id)];
    if (of.frames++ == 0) of.first = payload;
    of.changes |= payload ^ of.first;
  });
  Vector<Signal, Tag::columns> wide;
  for (const Signal& signal : signals.signals())
    wide.push_back(widened(signal, seen[static_cast<size_t>(signal.id)].changes));
  const auto place = [&](const Signal& signal) {
    return static_cast<size_t>(&signal - signals.signals().data());
  };
  Vector<Range, Tag::columns> ranges(wide.size());
  for_each_known(frames, runs, vocabulary, [&](int32_t id, uint64_t payload) {
    for (const Signal& signal : signals.of(id))
      ranges[place(signal)].add(wide[place(signal)], wide[place(signal)].value(payload));
  });
  SignalPairs model;
  Vector<int64_t, Tag::columns> range_of;  // of each pair, the smaller one
  for (size_t a = 0; a < wide.size(); ++a)
    for (size_t b = a + 1; b < wide.size() && wide[b].id == wide[a].id; ++b)
      if (wide[a].bits == wide[b].bits && ranges[a].is_measured() && ranges[b].is_measured() &&
          seen[static_cast<size_t>(wide[a].id)].frames >= kFewest) {
        model.pairs_.push_back({wide[a].id, wide[a].first_bit, wide[b].first_bit, wide[a].bits});
        range_of.push_back(std::min(ranges[a].size(), ranges[b].size()));
      }
  model.find_ranges(vocabulary.size());
  Vector<Differences, Tag::columns> differences(model.pairs_.size());
  for_each_known(frames, runs, vocabulary, [&](int32_t id, uint64_t payload) {
    for (const SignalPair& pair : model.of(id)) {
      Differences& of = differences[static_cast<size_t>(&pair - model.pairs_.data())];
      const int32_t now = difference(payload, pair.first, pair.second, pair.bits);
      if (!of.any) of.first = now;
      of.any = true;
      const int64_t off = on_ring(int64_t{now} - of.first, pair.bits);
      of.least = std::min(of.least, off);
      of.most = std::max(of.most, off);
    }
  });
  size_t kept = 0;
  for (size_t p = 0; p < model.pairs_.size(); ++p) {
    SignalPair pair = model.pairs_[p];
    const Differences& of = differences[p];
    if (static_cast<double>(of.most - of.least) > kMostSpread * static_cast<double>(range_of[p])) continue;
    const int64_t middle = of.least + (of.most - of.least) / 2;
    pair.middle = on_ring(of.first + middle, pair.bits);
    pair.most = static_cast<int32_t>(std::max(of.most - middle, middle - of.least));
    model.pairs_[kept++] = pair;
  }
  model.pairs_.resize(kept);
  model.find_ranges(vocabulary.size());
  return model;
}

std::span<const SignalPair> SignalPairs::of(int32_t id) const {
  const auto at = static_cast<size_t>(id);
  if (at + 1 >= first_of_.size()) return {};
  return std::span(pairs_).subspan(static_cast<size_t>(first_of_[at]),
                                   static_cast<size_t>(first_of_[at + 1] - first_of_[at]));
}

void SignalPairs::find_ranges(int32_t ids) {
  first_of_.assign(static_cast<size_t>(ids) + 1, 0);
  for (const SignalPair& pair : pairs_) ++first_of_[static_cast<size_t>(pair.id) + 1];
  std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
}

float SignalPairs::worst(const FrameSpans& frames, const FrameWindow& window,
                         const Vocabulary& vocabulary) const {
  if (pairs_.empty() || !window.recording->has_payload) return 0;
  double worst = 1;  // as a ratio
  for (int64_t f = window.first; f < window.first + window.count; ++f) {
    const auto at = static_cast<size_t>(f);
    const auto its = of(vocabulary.index(frames.can_id[at]));
    if (its.empty()) continue;
    const uint64_t payload = payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]);
    for (const SignalPair& pair : its)
      worst = std::max(worst, (std::abs(static_cast<double>(pair.off(payload))) + 1) / (pair.most + 1.0));
  }
  return static_cast<float>(std::log2(worst));
}

NamedTensors SignalPairs::tensors() const {
  if (pairs_.empty()) return {};
  Vector<int64_t, Tag::columns> values;
  for (const SignalPair& pair : pairs_)
    values.insert(values.end(), {pair.id, pair.first, pair.second, pair.bits, pair.middle, pair.most});
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
    const bool is_number = bits > 0 && bits <= SignalModel::kMostBits + 7;
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
  model.find_ranges(ids);
  return model;
}

}  // namespace plimsoll
