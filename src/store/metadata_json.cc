#include "store/metadata_json.h"

#include <fmt/format.h>

namespace plimsoll {

Json metadata_json(const SafetensorsView& file, const std::string& key) {
  Json json = parse_json(file.meta(key));
  if (json.is_discarded())
    throw InputError(
        fmt::format("{}: metadata '{}': not JSON, nested too deeply, or with too many keys; the "
                    "file is damaged, fetch it or train it again",
                    file.path(), key));
  return json;
}

}  // namespace plimsoll
