#include "cli/counted.h"

#include "base/units.h"

namespace plimsoll {

std::string counted(int64_t count, const std::string& noun) {
  const char* const ending = count == 1 ? "" : noun.ends_with('s') ? "es" : "s";
  return format_count(count) + " " + noun + ending;
}

}  // namespace plimsoll
