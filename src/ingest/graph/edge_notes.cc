#include "ingest/graph/edge_notes.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {

void note_first_line(const EdgeText& text, const EdgeListOptions& options, bool ids_are_given,
                     std::vector<std::string>& notes) {
  const Delimited& format = text.format;
  const auto field = [&](int role) -> size_t {
    return static_cast<size_t>(std::ranges::find(text.role, role) - text.role.begin());
  };
  const std::vector<std::string>& row = format.header ? format.second : format.columns;
  const std::string& first = format.columns[field(0)];
  const std::string& second = format.columns[field(1)];
  if (format.header && is_target_name(first) && is_source_name(second))
    notes.push_back(
        fmt::format("{}: '{}' is read as the column of sources and '{}' as that of targets; to exchange "
                    "them, give --source "
                    "{} --target {}",
                    text.path.string(), first, second, second, first));
  if (!format.header && !options.header && (is_id_name(first) || is_id_name(second)))
    notes.push_back(fmt::format(
        "{}: the first line, '{}' and '{}', is read as an edge; if it names columns, give --header yes",
        text.path.string(), first, second));
  if (ids_are_given || std::max(field(0), field(1)) >= row.size()) return;
  for (const std::string& id : {row[field(0)], row[field(1)]})
    if (is_real(id) && !is_number(id) && !whole_real(id))
      return notes.push_back(fmt::format(
          "{}: found the ID '{}', which is no whole number: IDs are read as texts", text.path.string(), id));
}

}  // namespace plimsoll
