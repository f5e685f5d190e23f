#include "ingest/swc/swc_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "ingest/text/delimited.h"
#include "ingest/text/line_reader.h"

namespace plimsoll {

SwcLabels::SwcLabels(const std::filesystem::path& path) : charge_(Tag::ingest) {
  Delimited format = Delimited::open(path);
  format.header = true;
  const auto column_of = [&](const char* name) {
    const auto found = std::ranges::find(format.columns, name);
    if (found == format.columns.end())
      throw InputError(fmt::format("{}:1: has no column '{}'; expected a header with file and label",
                                   path.string(), name));
    return static_cast<size_t>(found - format.columns.begin());
  };
  const size_t file = column_of("file");
  const size_t label = column_of("label");
  LineReader lines(InputStream::open(path), path.string());
  std::string_view line;
  lines.next_row(line);  // Skips the header.
  while (lines.next(line)) {
    std::vector<std::string_view> fields;
    for (std::string_view rest = line; rest.data() != nullptr && fields.size() < format.columns.size();)
      fields.push_back(lines.field(rest, format.separator));
    if (fields.size() <= std::max(file, label) || fields[label].empty())
      lines.refuse(line.substr(line.size()), "a file and its label");
    const auto [entry, fresh] = entries_.try_emplace(std::string(fields[file]));
    if (!fresh) lines.refuse(fields[file], "each file once");
    entry->second.label = fields[label];
    entry->second.line = lines.line();
    charge_.add(static_cast<int64_t>(sizeof(*entry) + fields[file].size() + fields[label].size() + 64));
    const auto place = std::ranges::lower_bound(classes_, fields[label]);
    if (place == classes_.end() || *place != fields[label]) classes_.emplace(place, fields[label]);
  }
  for (auto& [name, entry] : entries_)
    entry.number = std::ranges::lower_bound(classes_, entry.label) - classes_.begin();
}

int64_t SwcLabels::find(const std::string& file) {
  const auto found = entries_.find(file);
  if (found == entries_.end()) return -1;
  found->second.used = true;
  return found->second.number;
}

std::vector<SwcLabels::Unused> SwcLabels::unused() const {
  std::vector<Unused> lines;
  for (const auto& [name, entry] : entries_)
    if (!entry.used) lines.push_back({entry.line, name});
  std::ranges::sort(lines, {}, &Unused::line);
  return lines;
}

}  // namespace plimsoll
