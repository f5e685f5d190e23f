#include "sample/typed/target_vocabulary.h"

#include <algorithm>
#include <functional>

#include "base/error.h"

namespace plimsoll {

TargetVocabulary target_vocabulary(const DataSetView& set, const Json& target, const std::string& place) {
  const auto letters = set.column<uint8_t>(target.at("vocabulary"));
  const auto ends = set.column<int64_t>(target.at("vocabulary_ptr"));
  const auto damaged = [&] {
    return InputError(place + ": its vocabulary is damaged; ingest the tables again");
  };
  TargetVocabulary texts;
  for (size_t code = 0; code + 1 < ends.size(); ++code) {
    if (ends[code] < 0 || ends[code + 1] < ends[code] || ends[code + 1] > std::ssize(letters))
      throw damaged();
    texts.emplace_back(reinterpret_cast<const char*>(letters.data()) + ends[code],
                       static_cast<size_t>(ends[code + 1] - ends[code]));
  }
  if (std::ranges::adjacent_find(texts, std::greater_equal<>()) != texts.end()) throw damaged();
  return texts;
}

}  // namespace plimsoll
