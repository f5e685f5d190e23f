#include "ingest/tables/vocabulary.h"

#include <algorithm>
#include <numeric>

#include "base/hash64.h"

namespace plimsoll {

std::string_view TextVocabulary::text(int64_t number) const {
  const auto at = static_cast<size_t>(number);
  const auto begin = static_cast<size_t>(at == 0 ? 0 : ends_[at - 1]);
  return {bytes_.data() + begin, static_cast<size_t>(ends_[at]) - begin};
}

int32_t TextVocabulary::add(std::string_view given) {
  if (ends_.size() * 2 >= slots_.size()) grow();
  const uint64_t hash = hash64(given, 0);
  size_t at = static_cast<size_t>(hash) & (slots_.size() - 1);
  for (; slots_[at] >= 0; at = (at + 1) & (slots_.size() - 1))
    if (hashes_[static_cast<size_t>(slots_[at])] == hash && text(slots_[at]) == given) return slots_[at];
  slots_[at] = static_cast<int32_t>(ends_.size());
  bytes_.insert(bytes_.end(), given.begin(), given.end());
  ends_.push_back(static_cast<int64_t>(bytes_.size()));
  hashes_.push_back(hash);
  return slots_[at];
}

void TextVocabulary::grow() {
  Vector<int32_t, Tag::ingest> more(std::max<size_t>(64, slots_.size() * 2), -1);
  for (size_t number = 0; number < hashes_.size(); ++number) {
    size_t at = static_cast<size_t>(hashes_[number]) & (more.size() - 1);
    while (more[at] >= 0) at = (at + 1) & (more.size() - 1);
    more[at] = static_cast<int32_t>(number);
  }
  slots_.swap(more);
}

Vector<int32_t, Tag::ingest> TextVocabulary::sorted() const {
  Vector<int32_t, Tag::ingest> order(ends_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int32_t a, int32_t b) { return text(a) < text(b); });
  return order;
}

}  // namespace plimsoll
