#pragma once

#include <string>

namespace plimsoll {

/// A shared library that the constructor loads and that stays loaded. cmake/loaded.cmake says why it is not
/// linked.
class SharedLibrary {
 public:
  /// `name` is the SONAME or a path. `remedy` ends the error for a missing library: "install that library, or
  /// ...". Throws no error if the library is missing; function() does.
  SharedLibrary(std::string name, std::string remedy);

  /// Returns the function named `symbol`. Errors: Failure if the library or the function is missing.
  template <typename Function>
  Function function(const char* symbol) const {
    return reinterpret_cast<Function>(find(symbol));
  }

 private:
  void* find(const char* symbol) const;

  std::string name_;
  std::string remedy_;
  void* loaded_;
};

}  // namespace plimsoll
