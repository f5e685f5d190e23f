#include "sample/typed/number_column.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {

template <typename T>
bool NumberColumn::use_if(const std::string& dtype) {
  if (dtype != npy_dtype<T>()) return false;
  read_ = [](const std::byte* data, int64_t element) {
    return static_cast<double>(reinterpret_cast<const T*>(data)[element]);
  };
  whole_ = [](const std::byte* data, int64_t element) {
    return static_cast<int64_t>(reinterpret_cast<const T*>(data)[element]);
  };
  return true;
}

NumberColumn::NumberColumn(const DataSetView& set, const std::string& column, const std::string& valid) {
  const auto found = set.columns().find(column);
  if (found == set.columns().end())
    throw InputError(
        fmt::format("{}: found no column '{}'; run `plimsoll verify`", set.folder().string(), column));
  const NpyView& npy = found->second;
  data_ = npy.data().data();
  size_ = npy.shape().elements();
  if (!valid.empty()) valid_ = set.column<uint8_t>(valid);
  if (!valid_.empty()) width_ = std::max<int64_t>(size_ / std::ssize(valid_), 1);
  const std::string& dtype = npy.shape().dtype;
  const bool is_known = use_if<int8_t>(dtype) || use_if<uint8_t>(dtype) || use_if<int16_t>(dtype) ||
                        use_if<int32_t>(dtype) || use_if<uint32_t>(dtype) || use_if<int64_t>(dtype) ||
                        use_if<float>(dtype) || use_if<double>(dtype);
  if (is_known) return;
  throw InputError(fmt::format("{}: column '{}' has the dtype {}, expected numbers", set.folder().string(),
                               column, dtype));
}

}  // namespace plimsoll
