#include "rows/feature_file.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"

namespace plimsoll {

FeatureFile FeatureFile::column(const DataSetView& set, const std::string& name) {
  const auto found = set.columns().find(name);
  if (found == set.columns().end())
    throw InputError(fmt::format("{}: there is no column {}", set.folder().string(), name));
  const NpyView& values = found->second;
  const std::vector<int64_t>& shape = values.shape().shape;
  if (shape.size() != 2 || shape[1] == 0)
    throw InputError(
        fmt::format("{}: column {} is expected to be [rows, features]", set.folder().string(), name));
  static_cast<void>(values.values<float>());  // or it says which dtype it has
  return {values.file().path(), values.offset(), shape[0], shape[1], values.file().identity()};
}

}  // namespace plimsoll
