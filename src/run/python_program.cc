#include "run/python_program.h"

#include <cstdlib>

namespace plimsoll {

std::string python_program() {
  const char* const given = std::getenv("PLIMSOLL_PYTHON");
  return given != nullptr && *given != 0 ? given : "python3";
}

}  // namespace plimsoll
