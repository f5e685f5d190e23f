#include "ingest/tables/column_files.h"

namespace plimsoll {

void ColumnFiles::add_validity(std::span<const uint8_t> valid) {
  const auto missing = static_cast<int64_t>(std::ranges::count(valid, uint8_t{0}));
  if (missing > 0 && valid_ == nullptr) {
    valid_ = &set_.column<uint8_t>(file("valid"));
    Vector<uint8_t, Tag::ingest> ones(8192, 1);
    for (int64_t left = rows_; left > 0; left -= static_cast<int64_t>(ones.size()))
      valid_->append(std::span<const uint8_t>(ones.data(), std::min(ones.size(), static_cast<size_t>(left))));
  }
  if (valid_ != nullptr) valid_->append(valid);
  missing_ += missing;
  rows_ += static_cast<int64_t>(valid.size());
}

Json ColumnFiles::finish(std::string_view meaning) {
  Json entry = {{"name", name_}, {"meaning", meaning}, {"column", file("values")}, {"missing", missing_}};
  if (valid_ != nullptr) {
    set_.finish(file("valid"));
    entry["valid"] = file("valid");
  }
  return entry;
}

}  // namespace plimsoll
