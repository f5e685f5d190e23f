#include "ingest/tables/target_sink.h"

#include <fmt/format.h>

#include "base/error.h"

namespace plimsoll {

std::unique_ptr<ColumnSink> make_target_sink(DataSetWriter& set, const TaskSpec& task,
                                             const std::string& split, const ArrowType& type,
                                             const std::string& where) {
  const bool is_category = (type.kind == ValueKind::text && type.is_utf8) ||
                           (type.kind == ValueKind::list && type.item[0].kind != ValueKind::real);
  return make_column_sink(ColumnFiles(set, {"tasks", task.name, split}, task.target), type,
                          is_category ? "category" : "", where);
}

Json finish_targets(ColumnSink& sink, const std::string& where) {
  Json entry = sink.finish();
  if (entry.contains("reason"))
    throw InputError(fmt::format("{}: {}, expected targets", where, entry["reason"].get<std::string>()));
  return entry;
}

}  // namespace plimsoll
