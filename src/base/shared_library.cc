#include "base/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace plimsoll {

SharedLibrary::SharedLibrary(std::string name, std::string remedy)
    : name_(std::move(name)),
      remedy_(std::move(remedy)),
      loaded_(::dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {}

void* SharedLibrary::find(const char* symbol) const {
  void* const found = loaded_ == nullptr ? nullptr : ::dlsym(loaded_, symbol);
  if (found == nullptr) throw Failure(fmt::format("cannot load {} of {}; {}", symbol, name_, remedy_));
  return found;
}

}  // namespace plimsoll
