#include "can/profile/checksum_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "can/checksum/checksum_search.h"
#include "can/profile/benign_payloads.h"

namespace plimsoll {
namespace {

// Number of IDs searched in one pass. Each ID needs at most 16 KiB.
constexpr int32_t kAtOnce = 256;

}  // namespace

ChecksumModel ChecksumModel::learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                                   const Vocabulary& vocabulary) {
  ChecksumModel model;
  for (int32_t first = 0; first < vocabulary.size(); first += kAtOnce) {
    const auto count = static_cast<size_t>(std::min(kAtOnce, vocabulary.size() - first));
    Vector<ChecksumSearch, Tag::columns> searches(count);
    const auto each = [&](const auto& take) {
      for_each_benign_payload(frames, runs, vocabulary, [&](int32_t id, uint64_t payload) {
        const auto at = static_cast<size_t>(id - first);  // An ID before `first` wraps to more than `count`.
        if (at < count) take(at, payload);
      });
    };
    each([&](size_t id, uint64_t payload) { searches[id].see(payload); });
    each([&](size_t id, uint64_t payload) { searches[id].solve(payload); });
    Vector<PayloadChecksum, Tag::columns> offered;
    Vector<size_t, Tag::columns> first_of = {0};
    for (size_t id = 0; id < count; ++id) {
      searches[id].offer(first + static_cast<int32_t>(id), offered);
      first_of.push_back(offered.size());
    }
    Vector<uint8_t, Tag::columns> broken(offered.size(), 0);
    each([&](size_t id, uint64_t payload) {
      for (size_t at = first_of[id]; at < first_of[id + 1]; ++at)
        broken[at] |= offered[at].is_broken(payload);
    });
    for (size_t id = 0; id < count; ++id)
      for (size_t at = first_of[id]; at < first_of[id + 1]; ++at)
        if (broken[at] == 0) {
          model.checksums_.push_back(offered[at]);
          break;
        }
  }
  model.find_places(vocabulary.size());
  return model;
}

void ChecksumModel::find_places(int32_t ids) {
  if (checksums_.empty()) return;
  of_id_.assign(static_cast<size_t>(ids), -1);
  for (size_t at = 0; at < checksums_.size(); ++at)
    of_id_[static_cast<size_t>(checksums_[at].id)] = static_cast<int32_t>(at);
}

float ChecksumModel::broken(const FrameSpans& frames, const FrameWindow& window,
                            const Vocabulary& vocabulary) const {
  if (checksums_.empty() || !window.recording->has_payload) return 0;
  const FrameKeys keys = vocabulary.keys(frames, *window.recording);
  int64_t broken = 0;
  for (int64_t f = window.first; f < window.first + window.count; ++f) {
    const auto at = static_cast<size_t>(f);
    const PayloadChecksum* const its = for_id(vocabulary.index(keys[at]));
    if (its == nullptr) continue;
    broken += its->is_broken(payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]));
  }
  return static_cast<float>(broken);
}

NamedTensors ChecksumModel::tensors() const {
  if (checksums_.empty()) return {};
  Vector<int64_t, Tag::columns> places;
  Vector<int64_t, Tag::columns> bits;
  Vector<int64_t, Tag::columns> terms;
  for (const PayloadChecksum& checksum : checksums_) {
    places.insert(places.end(), {checksum.id, checksum.first_bit, checksum.bits,
                                 static_cast<int64_t>(checksum.rule), checksum.start});
    bits.insert(bits.end(), {static_cast<int64_t>(checksum.known), static_cast<int64_t>(checksum.constant)});
    terms.insert(terms.end(), checksum.terms.begin(), checksum.terms.end());
  }
  const auto count = static_cast<int64_t>(checksums_.size());
  return {{"profile.checksum_place", own_tensor<int64_t>(places, {count, 5})},
          {"profile.checksum_bits", own_tensor<int64_t>(bits, {count, 2})},
          {"profile.checksum_terms", own_tensor<int64_t>(terms, {count, 64})}};
}

ChecksumModel ChecksumModel::from_tensors(const NamedTensors& tensors, int32_t ids) {
  ChecksumModel model;
  if (!tensors.contains("profile.checksum_place")) return model;
  const auto places = values_of<int64_t>(tensors, "profile.checksum_place", {-1, 5});
  const size_t count = places.size() / 5;
  const auto rows = static_cast<int64_t>(count);
  const auto bits = values_of<int64_t>(tensors, "profile.checksum_bits", {rows, 2});
  const auto terms = values_of<int64_t>(tensors, "profile.checksum_terms", {rows, 64});
  int64_t id_before = -1;
  for (size_t k = 0; k < count; ++k) {
    const int64_t* const place = &places[5 * k];
    const auto its = terms.subspan(64 * k, 64);
    const auto is_byte = [](int64_t value) { return value >= 0 && value <= 255; };
    const bool possible = place[0] > id_before && place[0] < ids && (place[2] == 4 || place[2] == 8) &&
                          place[1] >= 0 && place[1] <= 64 - place[2] && (place[3] == 0 || place[3] == 1) &&
                          is_byte(place[4]) && std::ranges::all_of(its, is_byte);
    if (!possible)
      throw InputError(fmt::format(
          "the model's tensors 'profile.checksum_*' hold an impossible checksum in row {}; calibrate it "
          "again",
          k));
    id_before = place[0];
    PayloadChecksum checksum{.id = static_cast<int32_t>(place[0]),
                             .first_bit = static_cast<uint8_t>(place[1]),
                             .bits = static_cast<uint8_t>(place[2]),
                             .rule = static_cast<PayloadChecksum::Rule>(place[3]),
                             .start = static_cast<uint8_t>(place[4]),
                             .known = static_cast<uint64_t>(bits[2 * k]),
                             .constant = static_cast<uint64_t>(bits[2 * k + 1])};
    std::ranges::transform(its, checksum.terms.begin(),
                           [](int64_t term) { return static_cast<uint8_t>(term); });
    checksum.known &= ~checksum.field();
    model.checksums_.push_back(checksum);
  }
  model.find_places(ids);
  return model;
}

}  // namespace plimsoll
