#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace plimsoll {

Failure system_failure(const std::string& what, const std::string& path) {
  return Failure(what + " " + path + ": " + std::strerror(errno));
}

}  // namespace plimsoll
