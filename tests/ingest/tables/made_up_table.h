#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/arrow_stream.h"

namespace plimsoll {

/// One column of a table as Arrow stores it, built by hand.
struct MadeUpColumn {
  std::string name;
  std::string format;
  int64_t length = 0;
  int64_t offset = 0;
  std::vector<std::optional<std::vector<std::byte>>> buffers = {};  ///< nullopt is a null pointer.
  std::vector<MadeUpColumn> children = {};
  std::shared_ptr<MadeUpColumn> dictionary = {};
};

template <typename T>
std::vector<std::byte> bytes_of_values(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<std::byte> validity_bits(const std::vector<std::optional<T>>& values) {
  std::vector<std::byte> bits(values.size() / 8 + 1);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i]) bits[i / 8] |= static_cast<std::byte>(1U << (i % 8));
  return bits;
}

/// A column of fixed-size values, such as format "l" of int64_t, "g" of double and "tsn:" of times.
template <typename T>
MadeUpColumn made_up_numbers(const std::string& name, const std::string& format,
                             const std::vector<std::optional<T>>& values) {
  std::vector<T> plain;
  for (const std::optional<T>& value : values) plain.push_back(value.value_or(T{}));
  return {.name = name,
          .format = format,
          .length = static_cast<int64_t>(values.size()),
          .buffers = {validity_bits(values), bytes_of_values(plain)}};
}

inline MadeUpColumn made_up_texts(const std::string& name,
                                  const std::vector<std::optional<std::string>>& values) {
  std::vector<int32_t> ends = {0};
  std::string all;
  for (const std::optional<std::string>& value : values) {
    all += value.value_or("");
    ends.push_back(static_cast<int32_t>(all.size()));
  }
  return {.name = name,
          .format = "u",
          .length = static_cast<int64_t>(values.size()),
          .buffers = {validity_bits(values), bytes_of_values(ends),
                      bytes_of_values(std::vector<char>(all.begin(), all.end()))}};
}

using MadeUpBatch = std::vector<MadeUpColumn>;

namespace made_up {

inline void fill_schema(const MadeUpColumn& column, ArrowSchema& schema);

// Everything that a schema points to.
struct HeldSchema {
  std::string format, name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary{};
};

inline void fill_schema(const std::string& format, const std::string& name,
                        const std::vector<MadeUpColumn>& children, const MadeUpColumn* dictionary,
                        ArrowSchema& schema) {
  auto* const held = new HeldSchema{.format = format, .name = name, .children = {}, .pointers = {}};
  held->children.resize(children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    fill_schema(children[i], held->children[i]);
    held->pointers.push_back(&held->children[i]);
  }
  schema = {};
  schema.format = held->format.c_str();
  schema.name = held->name.c_str();
  schema.flags = ARROW_FLAG_NULLABLE;
  schema.n_children = static_cast<int64_t>(children.size());
  schema.children = held->pointers.data();
  if (dictionary != nullptr) {
    fill_schema(*dictionary, held->dictionary);
    schema.dictionary = &held->dictionary;
  }
  schema.private_data = held;
  schema.release = [](ArrowSchema* self) {
    auto* const all = static_cast<HeldSchema*>(self->private_data);
    for (ArrowSchema& child : all->children) child.release(&child);
    if (self->dictionary != nullptr) self->dictionary->release(self->dictionary);
    delete all;
    self->release = nullptr;
  };
}

inline void fill_schema(const MadeUpColumn& column, ArrowSchema& schema) {
  fill_schema(column.format, column.name, column.children, column.dictionary.get(), schema);
}

// Everything that an array points to.
struct HeldArray {
  std::vector<std::optional<std::vector<std::byte>>> buffers;
  std::vector<const void*> pointers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
  ArrowArray dictionary{};
};

inline void fill_array(const MadeUpColumn& column, ArrowArray& array) {
  auto* const held =
      new HeldArray{.buffers = column.buffers, .pointers = {}, .children = {}, .child_pointers = {}};
  for (const auto& buffer : held->buffers) held->pointers.push_back(buffer ? buffer->data() : nullptr);
  held->children.resize(column.children.size());
  for (size_t i = 0; i < column.children.size(); ++i) {
    fill_array(column.children[i], held->children[i]);
    held->child_pointers.push_back(&held->children[i]);
  }
  array = {};
  array.length = column.length;
  array.offset = column.offset;
  array.null_count = -1;
  array.n_buffers = static_cast<int64_t>(held->pointers.size());
  array.buffers = held->pointers.data();
  array.n_children = static_cast<int64_t>(held->children.size());
  array.children = held->child_pointers.data();
  if (column.dictionary) {
    fill_array(*column.dictionary, held->dictionary);
    array.dictionary = &held->dictionary;
  }
  array.private_data = held;
  array.release = [](ArrowArray* self) {
    auto* const all = static_cast<HeldArray*>(self->private_data);
    for (ArrowArray& child : all->children) child.release(&child);
    if (self->dictionary != nullptr) self->dictionary->release(self->dictionary);
    delete all;
    self->release = nullptr;
  };
}

struct HeldStream {
  std::vector<MadeUpBatch> batches;
  size_t next = 0;
};

}  // namespace made_up

/// A stream of these batches, at least one; all have the columns of the first.
inline ArrowArrayStream made_up_stream(std::vector<MadeUpBatch> batches) {
  using made_up::HeldStream;
  ArrowArrayStream stream{};
  stream.private_data = new HeldStream{std::move(batches)};
  stream.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    made_up::fill_schema("+s", "", static_cast<HeldStream*>(self->private_data)->batches[0], nullptr, *out);
    return 0;
  };
  stream.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    auto* const held = static_cast<HeldStream*>(self->private_data);
    *out = {};
    if (held->next == held->batches.size()) return 0;
    const MadeUpBatch& batch = held->batches[held->next++];
    made_up::fill_array(
        {.name = "", .format = "+s", .length = batch[0].length, .buffers = {std::nullopt}, .children = batch},
        *out);
    return 0;
  };
  stream.get_last_error = [](ArrowArrayStream*) -> const char* { return "made up"; };
  stream.release = [](ArrowArrayStream* self) {
    delete static_cast<HeldStream*>(self->private_data);
    self->release = nullptr;
  };
  return stream;
}

}  // namespace plimsoll
