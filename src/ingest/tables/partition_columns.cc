#include "ingest/tables/partition_columns.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <deque>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMissing = "__HIVE_DEFAULT_PARTITION__";

// Replaces each %XX with the byte that it stands for.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const char* const digits = text.data() + at + 1;
    const bool is_escape = text[at] == '%' && at + 2 < text.size() &&
                           std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    plain += is_escape ? static_cast<char>(byte) : text[at];
    if (is_escape) at += 2;
  }
  return plain;
}

// Returns name and value of each folder of a file below the root.
std::vector<std::pair<std::string, std::string>> parts_of(const fs::path& root, const fs::path& file) {
  std::vector<std::pair<std::string, std::string>> parts;
  for (const fs::path& folder : file.lexically_relative(root).parent_path()) {
    const std::string text = folder.string();
    if (const size_t equals = text.find('='); equals != std::string::npos && equals > 0)
      parts.emplace_back(unescaped(text.substr(0, equals)), unescaped(text.substr(equals + 1)));
  }
  return parts;
}

std::optional<int64_t> number_of(const std::string& text) {
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Returns an object of the C interface that has another owner, so that it needs no release.
template <typename T>
T borrowed() {
  T part{};
  part.release = [](T* self) { self->release = nullptr; };
  return part;
}

// The buffers of a run-end encoded column with one run, which ends with the last row.
struct RunBuffers {
  int64_t end = 0;
  int64_t number = 0;
  std::string text;
  std::array<int32_t, 2> offsets{};
  uint8_t validity = 0;
  std::array<const void*, 2> of_ends{};
  std::array<const void*, 3> of_values{};
};

// Columns that were appended to a schema or an array, and the original schema or array.
template <typename T>
struct Appended {
  T before{};
  std::vector<T*> children;
  std::deque<std::pair<T, std::array<T, 2>>> own;  // Runs, and their ends and values.
  std::deque<std::array<T*, 2>> pairs;
  std::deque<RunBuffers> buffers;  // Empty in a schema.

  T& add() {
    auto& [runs, parts] = own.emplace_back(borrowed<T>(), std::array{borrowed<T>(), borrowed<T>()});
    pairs.push_back({&parts[0], &parts[1]});
    runs.n_children = 2;
    runs.children = pairs.back().data();
    children.push_back(&runs);
    return runs;
  }
};

// Gives `target` the columns of `made`, which lives until `target` is released.
template <typename T>
void replace(T& target, Appended<T>* made) {
  target.n_children = std::ssize(made->children);
  target.children = made->children.data();
  target.private_data = made;
  target.release = [](T* self) {
    auto* const all = static_cast<Appended<T>*>(self->private_data);
    all->before.release(&all->before);
    delete all;
    self->release = nullptr;
  };
}

template <typename T>
Appended<T>* begin_append(const T& target) {
  auto* const made = new Appended<T>{.before = target, .children = {}, .own = {}, .pairs = {}, .buffers = {}};
  made->children.assign(target.children, target.children + target.n_children);
  return made;
}

}  // namespace

PartitionColumns::PartitionColumns(const TableFiles& table) {
  for (size_t file = 0; file < table.files.size(); ++file) {
    const auto parts = parts_of(table.root, table.files[file]);
    for (size_t at = 0; at < parts.size(); ++at) {
      if (file == 0) columns_.push_back({.name = parts[at].first, .texts = {}});
      if (at < columns_.size() && columns_[at].name != parts[at].first) break;
    }
    bool same = parts.size() == columns_.size();
    for (size_t at = 0; same && at < parts.size(); ++at) same = parts[at].first == columns_[at].name;
    if (!same)
      throw InputError(
          fmt::format("{}: its folders name other columns than those of {}; expected the same for "
                      "all files of a table",
                      table.location(file).text(), table.location(0).text()));
    for (size_t at = 0; at < parts.size(); ++at) {
      const std::string& text = parts[at].second;
      const bool is_there = text != kMissing;
      columns_[at].texts.push_back(is_there ? std::optional(text) : std::nullopt);
      columns_[at].is_number = columns_[at].is_number && (!is_there || number_of(text));
    }
  }
}

std::string PartitionColumns::hash() const {
  if (columns_.empty()) return "";
  Hasher hasher;
  const auto add = [&](const std::optional<std::string>& text) {
    const int64_t bytes = text ? std::ssize(*text) : -1;
    hasher.add(&bytes, sizeof bytes);
    if (text) hasher.add(text->data(), text->size());
  };
  for (const Column& column : columns_) {
    add(column.name);
    for (const std::optional<std::string>& text : column.texts) add(text);
  }
  return hasher.hex64();
}

void PartitionColumns::append_to(ArrowSchema& schema) const {
  if (columns_.empty()) return;
  Appended<ArrowSchema>* const made = begin_append(schema);
  for (const Column& column : columns_) {
    ArrowSchema& runs = made->add();
    runs.format = "+r";
    runs.name = column.name.c_str();
    runs.children[0]->format = "l";
    runs.children[1]->format = column.is_number ? "l" : "u";
    runs.children[1]->flags = ARROW_FLAG_NULLABLE;
  }
  replace(schema, made);
}

void PartitionColumns::append_to(ArrowArray& batch, size_t file) const {
  if (columns_.empty()) return;
  Appended<ArrowArray>* const made = begin_append(batch);
  for (const Column& column : columns_) {
    const std::optional<std::string>& text = column.texts[file];
    ArrowArray& runs = made->add();
    runs.length = batch.offset + batch.length;
    RunBuffers& run = made->buffers.emplace_back();
    run.end = runs.length;
    run.text = text.value_or("");
    run.validity = text ? 1 : 0;
    run.number = number_of(run.text).value_or(0);
    run.offsets[1] = static_cast<int32_t>(run.text.size());
    run.of_ends = {nullptr, &run.end};
    run.of_values = {&run.validity, column.is_number ? static_cast<const void*>(&run.number) : &run.offsets,
                     run.text.data()};
    const auto set = [](ArrowArray& array, auto& buffers, int64_t count) {
      array.length = 1;
      array.n_buffers = count;
      array.buffers = buffers.data();
    };
    set(*runs.children[0], run.of_ends, 2);
    set(*runs.children[1], run.of_values, column.is_number ? 2 : 3);
    runs.children[1]->null_count = text ? 0 : 1;
  }
  replace(batch, made);
}

}  // namespace plimsoll
