#include "store/metadata_json.h"

#include <fmt/format.h>

#include <limits>

namespace plimsoll {

Json metadata_json(const SafetensorsView& file, const std::string& key) {
  Json json = parse_json(file.meta(key));
  if (json.is_discarded())
    throw InputError(
        fmt::format("{}: metadata '{}': not JSON, or nested too deep or with too many keys; the "
                    "file is damaged, fetch it or train it again",
                    file.path(), key));
  return json;
}

int64_t whole_number(const Json& json) {
  if (!json.is_number_integer() || json > std::numeric_limits<int64_t>::max())
    throw UsageError(fmt::format("found {}, expected a whole number", json.dump()));
  return json.get<int64_t>();
}

}  // namespace plimsoll
