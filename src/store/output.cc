#include "store/output.h"

#include "store/data_set.h"

namespace plimsoll {

bool is_made_already(const std::filesystem::path& out, bool force, const Json& provenance,
                     const std::vector<std::filesystem::path>& sources, const WillHold& will_hold) {
  if (!force && find_existing(out, provenance) == Existing::same) return true;
  require_free(out, force, sources, will_hold);
  return false;
}

}  // namespace plimsoll
