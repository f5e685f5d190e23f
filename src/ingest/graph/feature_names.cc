#include "ingest/graph/feature_names.h"

#include <fmt/format.h>

#include "base/error.h"
#include "memory/heap_bytes.h"

namespace plimsoll {

void FeatureNames::require_room(int64_t count, const std::string& where) const {
  if (count > kMax - static_cast<int64_t>(names_.size()))
    throw InputError(fmt::format("{}: has more than {} features, expected that many at most", where, kMax));
}

void FeatureNames::add(std::string name, const std::string& where) {
  require_room(1, where);
  constexpr int64_t kCopies = 4;  // Two while the list grows, one in the tables, one in the manifest.
  charge_.add(kCopies * (2 * static_cast<int64_t>(sizeof(std::string)) + heap_bytes(name)));
  names_.push_back(std::move(name));
}

void FeatureNames::add_numbers(int64_t count, const std::string& where) {
  require_room(count, where);
  for (int64_t i = 0; i < count; ++i) add(fmt::format("feature_{}", i), where);
}

}  // namespace plimsoll
