#include "sample/typed/target_vocabulary.h"

#include "base/error.h"

namespace plimsoll {

std::vector<std::string> target_vocabulary(const DataSetView& set, const Json& target,
                                           const std::string& place) {
  const auto letters = set.column<uint8_t>(target.at("vocabulary"));
  const auto ends = set.column<int64_t>(target.at("vocabulary_ptr"));
  std::vector<std::string> texts;
  for (size_t code = 0; code + 1 < ends.size(); ++code) {
    if (ends[code] < 0 || ends[code + 1] < ends[code] || ends[code + 1] > std::ssize(letters))
      throw InputError(place + ": its vocabulary is damaged; ingest the tables again");
    texts.emplace_back(letters.begin() + ends[code], letters.begin() + ends[code + 1]);
  }
  return texts;
}

}  // namespace plimsoll
