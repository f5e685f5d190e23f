#include "rows/feature_file.h"

#include <utility>

namespace plimsoll {

FeatureFile FeatureFile::column(const DataSetView& set, const std::string& name) {
  RowValues values = RowValues::of(set, name);
  const NpyView& rows = set.columns().at(name);
  return {rows.file().path(), rows.offset(),          rows.shape().rows(),
          values.width,       rows.file().identity(), std::move(values)};
}

}  // namespace plimsoll
