#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plimsoll {

/// Maps the class numbers of a data set to those of a model: by name if both have names, otherwise unchanged.
class ClassNumbers {
 public:
  /// `model` and `data` are the names of classes by number, or empty. The model has `classes` classes. The
  /// lists must outlive the object.
  ClassNumbers(const std::vector<std::string>& model, const std::vector<std::string>& data, int64_t classes);

  /// Returns the model's number of a class of the data set. Errors: InputError, whose message starts with
  /// where(), for a class that the model does not know.
  int64_t of(int64_t label, const std::function<std::string()>& where) const;

 private:
  const std::vector<std::string>& model_;
  const std::vector<std::string>& data_;
  const int64_t classes_;
  std::vector<int64_t> numbers_;  // Indexed by class number in the data set; -1 for a name that the model
                                  // does not know; empty if there are no names.
};

}  // namespace plimsoll
