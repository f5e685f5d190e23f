#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "can/profile/add_count.h"
#include "can/profile/distinct_keys.h"
#include "can/profile/profile_sums.h"

// Merges the profiles of several drives. Counts are added; a fitted value becomes a bound that no drive
// exceeds.

namespace plimsoll {
namespace {

// One drive's part of an ID that has payloads in it.
struct Part {
  const LearnedDrive& drive;
  int32_t id;

  const BenignId& counted() const { return drive.sums.ids[static_cast<size_t>(id)]; }
  // Whether these bits never changed. If so, the drive learned nothing about them and does not contradict the
  // others.
  bool holds(uint64_t bits) const { return (counted().changed_bits() & bits) == 0; }
  uint64_t held() const { return counted().held_bits(); }
};

using Parts = std::vector<Part>;

Parts parts_of(std::span<const LearnedDrive> drives, MessageKey key) {
  Parts parts;
  for (const LearnedDrive& drive : drives) {
    const int32_t id = drive.profile.vocabulary().index(key);
    if (id < drive.profile.vocabulary().size() && drive.sums.ids[static_cast<size_t>(id)].payloads() > 0)
      parts.push_back({drive, id});
  }
  return parts;
}

uint64_t bits_at(int first, int bits) {
  return ((uint64_t{1} << bits) - 1) << (64 - first - bits);
}

auto place_of(const Signal& item) {
  return std::tuple(item.first_bit, item.bits);
}
auto place_of(const SignalPair& item) {
  return std::tuple(item.first, item.second, item.bits);
}

template <typename Item>
const Item* find(std::span<const Item> all, const Item& place) {
  const auto found =
      std::ranges::find_if(all, [&](const Item& item) { return place_of(item) == place_of(place); });
  return found == all.end() ? nullptr : &*found;
}

// Merges a signal that each drive either has or holds at one value. Returns none for any other signal.
std::optional<Signal> merged(const Parts& parts, const Signal& place, SignalLine& line) {
  Signal all{.first_bit = place.first_bit, .bits = place.bits};
  const auto in = [&](const Part& part) { return find(part.drive.profile.signals().for_id(part.id), place); };
  const auto line_of = [](const Part& part, const Signal* item) -> const SignalLine& {
    return part.drive.sums.lines[static_cast<size_t>(item - part.drive.profile.signals().signals().data())];
  };
  for (const Part& part : parts) {
    if (const Signal* const item = in(part))
      line.add(line_of(part, item));
    else if (part.holds(bits_at(place.first_bit, place.bits)))
      line.pairs += static_cast<double>(std::max<int64_t>(part.counted().payloads() - 2, 0));
    else
      return std::nullopt;
  }
  line.put(all);
  all.min = ~uint32_t{0};
  double max_mean = 0;
  bool has_mean = false;
  for (const Part& part : parts) {
    const Signal* const item = in(part);
    Signal its;
    if (item != nullptr) {
      its = *item;
      // The merged line may differ from the drive's own line by this much, wherever the drive's own line was
      // worst.
      const double off = std::abs(all.slope - item->slope) * line_of(part, item).max_step +
                         std::abs(all.offset - item->offset);
      has_mean |= its.max_mean >= 0;
      its.max_mean = (its.max_mean >= 0 ? its.max_mean : its.max) + off;
      its.max += off;
    } else {
      its.min = its.greatest = all.value(part.held());
      its.longest_hold = static_cast<int32_t>(
          std::min<int64_t>(part.counted().payloads(), std::numeric_limits<int32_t>::max()));
      its.max = its.max_mean = std::abs(all.offset);
    }
    all.longest_hold = std::max(all.longest_hold, its.longest_hold);
    all.min = std::min(all.min, its.min);
    all.greatest = std::max(all.greatest, its.greatest);
    all.max = std::max(all.max, its.max);
    max_mean = std::max(max_mean, its.max_mean);
  }
  if (has_mean) all.max_mean = max_mean;
  return all;
}

// Merges a pair that each drive either has or holds at one value: the merged range covers the differences of
// all drives. Returns none for any other pair.
std::optional<SignalPair> merged(const Parts& parts, const SignalPair& place) {
  SignalPair all{.first = place.first, .second = place.second, .bits = place.bits};
  int64_t min = 0;
  int64_t max = 0;
  bool any = false;
  for (const Part& part : parts) {
    SignalPair its = all;
    if (const SignalPair* const item = find(part.drive.profile.pairs().for_id(part.id), place))
      its = *item;
    else if (part.holds(bits_at(place.first, place.bits) | bits_at(place.second, place.bits)))
      its.middle =
          SignalPair{.first = place.first, .second = place.second, .bits = place.bits}.off(part.held());
    else
      return std::nullopt;
    if (!any) all.middle = its.middle;
    any = true;
    const int64_t off = all.around(int64_t{its.middle} - all.middle);
    min = std::min(min, off - its.max);
    max = std::max(max, off + its.max);
  }
  // The differences cover half of the ring, so no middle is defined.
  if (max - min >= int64_t{1} << (place.bits - 1)) return std::nullopt;
  const int64_t middle = min + (max - min) / 2;
  all.middle = all.around(all.middle + middle);
  all.max = static_cast<int32_t>(std::max(max - middle, middle - min));
  return all;
}

// Returns the checksum that every drive either found or, if it has only one payload of the ID, satisfies.
// Returns none if there is no such checksum.
std::optional<PayloadChecksum> merged_checksum(const Parts& parts) {
  std::optional<PayloadChecksum> all;
  const auto in = [](const Part& part) { return part.drive.profile.checksums().for_id(part.id); };
  for (const Part& part : parts)
    if (const PayloadChecksum* const item = in(part); item != nullptr && !all) all = *item;
  if (!all) return std::nullopt;
  for (const Part& part : parts) {
    PayloadChecksum its = *all;
    if (in(part) != nullptr) its = *in(part);
    its.id = all->id;
    const bool agrees =
        its == *all && (in(part) != nullptr || (part.holds(~uint64_t{0}) && !all->is_broken(part.held())));
    if (!agrees) return std::nullopt;
  }
  return all;
}

// Calls merge(place) for each distinct place of all drives, in ascending order.
template <typename Item, typename ItemsOf, typename Merge>
void merge_places(const Parts& parts, const ItemsOf& items_of, const Merge& merge) {
  std::vector<Item> places;
  for (const Part& part : parts)
    for (const Item& item : items_of(part))
      if (find(std::span<const Item>(places), item) == nullptr) places.push_back(item);
  std::ranges::sort(places, {}, [](const Item& item) { return place_of(item); });
  for (const Item& place : places) merge(place);
}

MessageIds ids_of(std::span<const LearnedDrive> drives) {
  DistinctKeys keys;
  const std::vector<std::string>& channels = drives.front().profile.vocabulary().ids().channels;
  for (const LearnedDrive& drive : drives) {
    const MessageIds& its = drive.profile.vocabulary().ids();
    if (its.channels != channels)
      throw InputError(
          "the drives have different channels, or the same channels in another order; calibrate on all of "
          "them at once");
    for (const MessageKey key : its.keys) keys.add(key);
  }
  return {keys.take(), channels};
}

void add_bins(auto& bins, const auto& more) {
  for (size_t bin = 0; bin < bins.size(); ++bin) add_count(bins[bin], more[bin]);
}

// Adds up the sums of all drives for each ID of `vocabulary`. Lines of signals are merged with the signals.
ProfileSums merged_sums(std::span<const LearnedDrive> drives, const Vocabulary& vocabulary) {
  const auto count = static_cast<size_t>(vocabulary.size());
  ProfileSums sums;
  sums.ids.assign(count, {});
  sums.spans.assign(count, {});
  for (const LearnedDrive& drive : drives) {
    add_count(sums.recordings, drive.sums.recordings);
    add_count(sums.arrivals.traffic_ns, drive.sums.arrivals.traffic_ns);
    if (!drive.sums.arrivals.ids.empty()) sums.arrivals.ids.resize(count);
  }
  for (const LearnedDrive& drive : drives) {
    const MessageKeys& keys = drive.profile.vocabulary().ids().keys;
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto at = static_cast<size_t>(vocabulary.index(keys[i]));
      sums.ids[at].add(drive.sums.ids[i]);
      add_bins(sums.spans[at].one, drive.sums.spans[i].one);
      add_bins(sums.spans[at].two, drive.sums.spans[i].two);
      if (!drive.sums.arrivals.ids.empty()) sums.arrivals.ids[at].add(drive.sums.arrivals.ids[i]);
    }
  }
  return sums;
}

// The merged models of payloads, sorted by ID.
struct PayloadModels {
  Vector<Signal, Tag::columns> signals;
  Vector<SignalPair, Tag::columns> pairs;
  Vector<PayloadChecksum, Tag::columns> checksums;
};

// Merges the payload models of all drives. Appends the line of each merged signal to `lines`.
PayloadModels merged_payload_models(std::span<const LearnedDrive> drives, const Vocabulary& vocabulary,
                                    Vector<SignalLine, Tag::columns>& lines) {
  PayloadModels models;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const Parts parts = parts_of(drives, vocabulary.ids().keys[static_cast<size_t>(id)]);
    const auto put = [&](auto item, auto& all) {
      if (!item) return false;
      item->id = id;
      all.push_back(*item);
      return true;
    };
    merge_places<Signal>(
        parts, [](const Part& part) { return part.drive.profile.signals().for_id(part.id); },
        [&](const Signal& place) {
          SignalLine line;
          if (put(merged(parts, place, line), models.signals)) lines.push_back(line);
        });
    merge_places<SignalPair>(
        parts, [](const Part& part) { return part.drive.profile.pairs().for_id(part.id); },
        [&](const SignalPair& place) { put(merged(parts, place), models.pairs); });
    put(merged_checksum(parts), models.checksums);
  }
  return models;
}

}  // namespace

BehaviourProfile BehaviourProfile::merged(std::span<const LearnedDrive> drives, ProfileSums& sums) {
  BehaviourProfile profile(Vocabulary(ids_of(drives)));
  const Vocabulary& vocabulary = profile.vocabulary_;
  sums = merged_sums(drives, vocabulary);
  for (const LearnedDrive& drive : drives) {
    profile.silence_.add(drive.profile.silence_);
    if (drive.profile.transitions_.empty()) continue;
    const MessageKeys& keys = drive.profile.vocabulary().ids().keys;
    for (size_t i = 0; i < keys.size(); ++i)
      for (size_t j = 0; j < keys.size(); ++j)
        if (drive.profile.has_transition(static_cast<int32_t>(i), static_cast<int32_t>(j)))
          profile.add_transition(vocabulary.index(keys[i]), vocabulary.index(keys[j]));
  }
  for (size_t i = 0; i < sums.ids.size(); ++i)
    profile.ids_[i] = sums.ids[i].finished(sums.spans[i], sums.recordings);
  profile.find_expected();
  profile.arrivals_ = ArrivalModel(sums.arrivals);

  PayloadModels models = merged_payload_models(drives, vocabulary, sums.lines);
  profile.signals_ = SignalModel(std::move(models.signals), vocabulary.size());
  profile.pairs_ = SignalPairs(std::move(models.pairs), vocabulary.size());
  profile.checksums_ = ChecksumModel(std::move(models.checksums), vocabulary.size());
  return profile;
}

}  // namespace plimsoll
