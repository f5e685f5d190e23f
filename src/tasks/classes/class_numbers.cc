#include "tasks/classes/class_numbers.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "sample/block/column_order.h"

namespace plimsoll {

ClassNumbers::ClassNumbers(const std::vector<std::string>& model, const std::vector<std::string>& data,
                           int64_t classes)
    : model_(model), data_(data), classes_(classes) {
  if (model.empty() || data.empty()) return;
  std::map<std::string, int64_t> numbers;
  for (size_t number = 0; number < model.size(); ++number)
    numbers.emplace(model[number], static_cast<int64_t>(number));
  for (const std::string& name : data) {
    const auto found = numbers.find(name);
    numbers_.push_back(found == numbers.end() ? -1 : found->second);
  }
}

int64_t ClassNumbers::of(int64_t label, const std::function<std::string()>& where) const {
  if (numbers_.empty()) {
    if (label < classes_) return label;
    throw InputError(
        fmt::format("{} is {}, but the model knows classes 0 .. {}", where(), label, classes_ - 1));
  }
  const int64_t number = label < std::ssize(numbers_) ? numbers_[static_cast<size_t>(label)] : -1;
  if (number >= 0 && number < classes_) return number;
  throw InputError(fmt::format(
      "{} is {}, one of the classes {}, but the model knows only {}; remove this class, or train with it",
      where(),
      label < std::ssize(data_) ? names_in_words({data_[static_cast<size_t>(label)]}) : std::to_string(label),
      names_in_words(data_), names_in_words(model_)));
}

}  // namespace plimsoll
