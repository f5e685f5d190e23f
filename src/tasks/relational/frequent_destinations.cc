#include "tasks/relational/frequent_destinations.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll {

FrequentDestinations::FrequentDestinations(const RelationalData& data) : seeds_(data.seeds().seeds()) {
  const GraphList training = data.graphs_of(TaskSeeds::kTrain);
  if (training.empty()) throw InputError("the task has no labelled training seeds; ingest the tables again");
  size_t targets = 0;
  for (const int64_t seed : training) targets += seeds_.destinations(seed).size();
  targets_.reserve(targets);
  Vector<int64_t, Tag::columns> counts(static_cast<size_t>(seeds_.target_width()), 0);
  for (const int64_t seed : training)
    for (const uint32_t node : seeds_.destinations(seed)) {
      targets_.push_back({static_cast<uint32_t>(seeds_.node(seed)), node});
      ++counts[node];
    }
  std::ranges::sort(targets_);
  constant_.resize(counts.size());
  for (size_t node = 0; node < counts.size(); ++node) constant_[node] = static_cast<uint32_t>(node);
  std::ranges::sort(constant_, [&](uint32_t a, uint32_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : a < b;
  });
}

// Counts the targets of an entity, the most frequent first.
void FrequentDestinations::count_own(int64_t entity, Counts& counts) const {
  counts.clear();
  const auto own = std::ranges::equal_range(targets_, static_cast<uint32_t>(entity), {}, &Target::entity);
  for (const Target& target : own) {
    if (counts.empty() || counts.back().node != target.node) counts.push_back({0, target.node});
    ++counts.back().count;
  }
  std::ranges::sort(counts, [](const Count& a, const Count& b) {
    return a.count != b.count ? a.count > b.count : a.node < b.node;
  });
}

int64_t FrequentDestinations::bytes_for(int64_t seeds) const {
  return seeds * seeds_.list_length() * int64_t{sizeof(uint32_t)} +
         2 * seeds_.target_width() * int64_t{sizeof(Count)};
}

Vector<uint32_t, Tag::columns> FrequentDestinations::recommend(const std::string& name,
                                                               const GraphList& seeds) const {
  const auto length = static_cast<size_t>(seeds_.list_length());
  Vector<uint32_t, Tag::columns> found;
  found.reserve(seeds.size() * length);
  Counts own;
  own.reserve(static_cast<size_t>(seeds_.target_width()));
  for (const int64_t seed : seeds) {
    const size_t begin = found.size();
    if (name == kHistory) count_own(seeds_.node(seed), own);
    for (size_t i = 0; i < std::min(own.size(), length); ++i) found.push_back(own[i].node);
    const size_t end_of_own = found.size();
    for (size_t i = 0; found.size() < begin + length; ++i) {
      const auto list = std::span(found).subspan(begin, end_of_own - begin);
      if (std::ranges::find(list, constant_[i]) == list.end()) found.push_back(constant_[i]);
    }
  }
  return found;
}

}  // namespace plimsoll
