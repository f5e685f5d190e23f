#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plimsoll {

/// Numbers of the model's classes for the classes of a data set: by name if both have names, else the same.
class ClassNumbers {
 public:
  /// `model` and `data` are the names of classes by number, or empty. The model has `classes` classes. The
  /// lists must outlive the object.
  ClassNumbers(const std::vector<std::string>& model, const std::vector<std::string>& data, int64_t classes);

  /// Returns the model's number of a class of the data set. Errors: InputError that begins with where(), for
  /// a class that the model does not know.
  int64_t of(int64_t label, const std::function<std::string()>& where) const;

 private:
  const std::vector<std::string>& model_;
  const std::vector<std::string>& data_;
  const int64_t classes_;
  std::vector<int64_t> numbers_;  // By number in the data set, -1 for an unknown name; empty without names.
};

}  // namespace plimsoll
