#include "ingest/tables/key_files.h"

#include <utility>

#include "ingest/tables/appender.h"
#include "store/typed_graph.h"

namespace plimsoll {

KeyFiles::KeyFiles(DataSetWriter& set, std::string node_type, const ArrowTable& table,
                   const std::vector<std::string>& columns)
    : set_(set), node_type_(std::move(node_type)) {
  for (const std::string& name : columns) {
    const ArrowType& type = table.columns()[static_cast<size_t>(table.find(name))].type;
    Part& part = parts_.emplace_back(Part{.name = name, .is_text = type.kind == ValueKind::text});
    const std::string file = typed_column({node_type_, "key", name});
    part.values = part.is_text ? &set_.column<uint8_t>(file) : &set_.column<int64_t>(file);
    if (!part.is_text) continue;
    part.ends = &set_.column<int64_t>(typed_column({node_type_, "key_ptr", name}));
    part.ends->append(std::span<const int64_t>(&part.bytes, 1));
  }
}

void KeyFiles::add(const KeyColumns& keys) {
  for (size_t at = 0; at < parts_.size(); ++at) {
    Part& part = parts_[at];
    const Values& values = keys.values()[at];
    if (!part.is_text) {
      part.values->append(std::span<const int64_t>(values.integers.data(), values.rows));
      continue;
    }
    Appender<int64_t> ends(*part.ends);
    for (size_t row = 0; row < values.rows; ++row) {
      part.values->append(std::span(values.texts[row].data(), values.texts[row].size()));
      part.bytes += static_cast<int64_t>(values.texts[row].size());
      ends.add(part.bytes);
    }
    ends.flush();
  }
}

Json KeyFiles::finish(bool is_row_number) {
  Json entries = Json::array();
  for (const Part& part : parts_) {
    const std::string file = typed_column({node_type_, "key", part.name});
    Json& entry = entries.emplace_back(Json{{"name", part.name}});
    if (is_row_number) {
      set_.discard(file);
      continue;
    }
    set_.finish(file);
    entry["column"] = file;
    if (!part.is_text) continue;
    const std::string ends = typed_column({node_type_, "key_ptr", part.name});
    set_.finish(ends);
    entry["ptr"] = ends;
  }
  return entries;
}

}  // namespace plimsoll
