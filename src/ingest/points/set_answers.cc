#include "ingest/points/set_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "io/input_stream.h"

namespace plimsoll {
namespace {

int64_t class_at(const NpyView& view, size_t row) {
  const std::string& dtype = view.shape().dtype;
  if (dtype == "<i8") return view.values<int64_t>()[row];
  if (dtype == "<i4") return view.values<int32_t>()[row];
  if (dtype == "<u4") return view.values<uint32_t>()[row];
  return view.values<uint8_t>()[row];
}

}  // namespace

SetAnswers::SetAnswers(const std::filesystem::path& path, bool whole) : path_(path.string()) {
  if (path.extension() != ".npy") {
    lines_ = std::make_unique<LineReader>(InputStream::open(path), path_);
    read_line();
    if (!whole && line_) width_ = 1 + std::count(line_->begin(), line_->end(), ',');
    return;
  }
  array_ = NpyView(path);
  const NpyShape& shape = array_.shape();
  const bool floats = shape.dtype == "<f4";
  if (whole && (floats || shape.shape.size() != 1))
    throw InputError(path_ +
                     ": expected one axis of whole numbers, the class of each set; numbers to be predicted "
                     "are --targets");
  if (!whole && (!floats || shape.shape.empty() || shape.shape.size() > 2 || shape.elements() == 0))
    throw InputError(path_ + ": expected float32 [sets] or [sets, targets]; classes are --labels");
  if (shape.shape.size() == 2) width_ = shape.shape[1];
}

void SetAnswers::read_line() {
  std::string_view line;
  line_ = lines_->next(line) ? std::optional(line) : std::nullopt;
}

int64_t SetAnswers::next_class() {
  const int64_t set = at_++;
  const auto refuse_end = [&] {
    return InputError(
        fmt::format("{}: ends after {} sets, expected one line or row for each set", path_, set));
  };
  if (lines_ != nullptr) {
    if (!line_) throw refuse_end();
    const int64_t label = lines_->whole(*line_, -1, kMaxSetClasses - 1, "a class, or -1 for none");
    read_line();
    return label;
  }
  if (set >= array_.shape().rows()) throw refuse_end();
  const int64_t label = class_at(array_, static_cast<size_t>(set));
  if (label < -1 || label >= kMaxSetClasses)
    throw InputError(fmt::format("{}: row {}: found {}, expected a class 0 to {}, or -1 for none", path_, set,
                                 label, kMaxSetClasses - 1));
  return label;
}

void SetAnswers::next_numbers(Vector<float, Tag::ingest>& row) {
  const int64_t set = at_++;
  row.clear();
  if (lines_ == nullptr) {
    if (set >= array_.shape().rows())
      throw InputError(fmt::format("{}: ends after {} sets, expected a row for each set", path_, set));
    const auto values =
        array_.values<float>().subspan(static_cast<size_t>(set * width_), static_cast<size_t>(width_));
    if (std::ranges::any_of(values, [](float value) { return std::isinf(value); }))
      throw InputError(
          fmt::format("{}: row {}: holds an infinite number, expected a finite one, or NaN if it is unknown",
                      path_, set));
    row.insert(row.end(), values.begin(), values.end());
    return;
  }
  if (!line_)
    throw InputError(fmt::format("{}: ends after {} sets, expected a line for each set", path_, set));
  for (std::string_view rest = *line_; rest.data() != nullptr;) {
    const std::string_view field = take_comma_field(rest);
    row.push_back(field == "nan" || field == "NaN"
                      ? std::numeric_limits<float>::quiet_NaN()
                      : lines_->real(field, "a target, or nan if it is unknown"));
  }
  if (static_cast<int64_t>(row.size()) != width_)
    lines_->refuse(*line_, fmt::format("{} numbers, as in the first line", width_));
  read_line();
}

void SetAnswers::require_end(int64_t sets) {
  if (lines_ != nullptr ? line_.has_value() : array_.shape().rows() != sets)
    throw InputError(fmt::format("{}: continues after {} sets, but there are no more sets", path_, sets));
}

}  // namespace plimsoll
