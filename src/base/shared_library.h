#pragma once

#include <string>

namespace plimsoll {

/// A shared library that is loaded on first use and stays loaded. cmake/loaded.cmake says why it is not
/// linked.
class SharedLibrary {
 public:
  /// `name` is the SONAME. `remedy` ends the error for a missing library: "install that library, or ...".
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
