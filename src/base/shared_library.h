#pragma once

#include <string>

namespace plimsoll {

/// A shared library that is loaded where it is first needed (cmake/loaded.cmake says why it is not linked).
/// It stays loaded.
class SharedLibrary {
 public:
  /// `name`: its SONAME. `remedy` ends the error for a missing library: "install that library, or ...".
  SharedLibrary(std::string name, std::string remedy);

  /// The function of this name. Errors: Failure, where the library or the function is missing.
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
