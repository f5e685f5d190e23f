#include "ingest/tables/arrow_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ingest/tables/arrow_buffers.h"
#include "ingest/tables/decimals.h"

namespace plimsoll {
namespace {

float half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  float value = 0;
  if (exponent == 31)
    value = mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(mantissa), -24);
  else
    value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

// Calls take(i, value) for `rows` numbers of a storage type from element `begin` on.
template <typename Take>
void each_number(char storage, const std::byte* data, int64_t begin, int64_t rows, const Take& take) {
  const auto run = [&]<typename T>(T /*type*/) {
    for (int64_t i = 0; i < rows; ++i) take(i, load<T>(data + (begin + i) * static_cast<int64_t>(sizeof(T))));
  };
  switch (storage) {
    case 'c':
      return run(int8_t{});
    case 'C':
      return run(uint8_t{});
    case 's':
      return run(int16_t{});
    case 'S':
      return run(uint16_t{});
    case 'i':
      return run(int32_t{});
    case 'I':
      return run(uint32_t{});
    case 'l':
      return run(int64_t{});
    case 'L':
      return run(uint64_t{});
    case 'f':
      return run(float{});
    case 'g':
      return run(double{});
    case 'e':
      for (int64_t i = 0; i < rows; ++i) take(i, half(load<uint16_t>(data + (begin + i) * 2)));
      return;
    default:
      return;
  }
}

void decode_integers(const ArrowType& type, const std::byte* data, int64_t begin, int64_t rows,
                     const std::string& where, Values& values) {
  each_number(type.storage, data, begin, rows, [&](int64_t i, auto value) {
    if constexpr (std::is_same_v<decltype(value), uint64_t>)
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) &&
          values.valid[static_cast<size_t>(i)] != 0)
        throw InputError(
            fmt::format("{}: holds {}, expected numbers below 2^63; write it as text", where, value));
    values.integers[static_cast<size_t>(i)] = static_cast<int64_t>(value);
  });
}

// Returns the text of a view. A view has 16 bytes: the length, followed by the text itself if it has up to 12
// bytes, otherwise by the index of the text's buffer and its offset in that buffer.
std::string_view view_at(const ArrowBuffers& buffers, const std::byte* views, int64_t at) {
  const std::byte* const view = views + at * 16;
  const auto length = load<int32_t>(view);
  if (length < 0) throw buffers.broken("a text of negative length");
  const auto* const own = reinterpret_cast<const char*>(view + 4);
  if (length <= 12) return {own, static_cast<size_t>(length)};
  const auto offset = load<int32_t>(view + 12);
  const std::byte* const data = buffers.data(2 + static_cast<int64_t>(load<int32_t>(view + 8)), "its texts");
  if (offset < 0) throw buffers.broken("a text at a negative offset");
  return {reinterpret_cast<const char*>(data) + offset, static_cast<size_t>(length)};
}

void decode_texts(const ArrowType& type, const ArrowBuffers& buffers, int64_t begin, int64_t rows,
                  Values& values) {
  const std::byte* const first = buffers.data(1, "its values");
  const bool wide = type.storage == 'U' || type.storage == 'Z';
  const auto end_at = [&](int64_t at) {
    return wide ? load<int64_t>(first + at * 8) : static_cast<int64_t>(load<int32_t>(first + at * 4));
  };
  for (int64_t i = 0; i < rows; ++i) {
    std::string_view& text = values.texts[static_cast<size_t>(i)];
    text = {};
    if (values.valid[static_cast<size_t>(i)] == 0) continue;
    if (type.is_view) {
      text = view_at(buffers, first, begin + i);
    } else if (type.storage == 'w') {
      text = {reinterpret_cast<const char*>(first + (begin + i) * type.width),
              static_cast<size_t>(type.width)};
    } else {
      const int64_t from = end_at(begin + i);
      const int64_t to = end_at(begin + i + 1);
      if (from < 0 || to < from) throw buffers.broken("offsets that fall");
      if (to > from)
        text = {reinterpret_cast<const char*>(buffers.data(2, "its texts")) + from,
                static_cast<size_t>(to - from)};
    }
  }
}

void decode_vectors(const ArrowType& type, const ArrowBuffers& buffers, int64_t begin, int64_t rows,
                    Values& values) {
  const ArrowArray& child = buffers.child(0);
  const ArrowBuffers elements(child, buffers.where());
  if (child.length < (begin + rows) * type.width) throw buffers.broken("fewer elements than its rows need");
  const std::byte* const data = elements.data(1, "its elements");
  each_number(
      type.element, data, child.offset + begin * type.width, rows * type.width,
      [&](int64_t i, auto value) { values.reals[static_cast<size_t>(i)] = static_cast<double>(value); });
  Vector<uint8_t, Tag::ingest> valid(static_cast<size_t>(rows * type.width));
  elements.copy_validity(false, child.offset + begin * type.width, rows * type.width, valid);
  for (size_t i = 0; i < valid.size(); ++i)
    if (valid[i] == 0) values.reals[i] = std::numeric_limits<double>::quiet_NaN();
}

// Reads the items of all lists at once, and drops those of missing lists, which may have some.
void decode_lists(const ArrowType& type, const ArrowBuffers& buffers, int64_t begin, int64_t rows,
                  Values& values) {
  values.lengths.assign(values.rows, 0);
  values.items.resize(1);
  Values& items = values.items[0];
  if (rows == 0) return items.keep({}, 1);
  const std::byte* const ends = buffers.data(1, "its offsets");
  const auto end_at = [&](int64_t at) {
    return type.index_bytes == 8 ? load<int64_t>(ends + at * 8)
                                 : static_cast<int64_t>(load<int32_t>(ends + at * 4));
  };
  for (int64_t row = begin; row < begin + rows; ++row)
    if (end_at(row) < 0 || end_at(row + 1) < end_at(row)) throw buffers.broken("offsets that fall");
  const int64_t first = end_at(begin);
  decode_arrow(type.item[0], buffers.child(0), first, end_at(begin + rows) - first, buffers.where(), items);
  Vector<uint8_t, Tag::ingest> kept(items.rows, 1);
  for (size_t row = 0; row < values.rows; ++row) {
    const int64_t from = end_at(begin + static_cast<int64_t>(row));
    const int64_t length = end_at(begin + static_cast<int64_t>(row) + 1) - from;
    if (values.valid[row] != 0)
      values.lengths[row] = length;
    else
      std::fill_n(kept.begin() + (from - first), length, uint8_t{0});
  }
  items.keep(kept, 1);
}

void set_missing_nan(Values& values) {
  for (size_t row = 0; row < values.rows; ++row)
    if (std::isnan(values.reals[row])) values.valid[row] = 0;
}

// Marks NaT, the missing time of NumPy and pandas, as missing. Arrow's own writers store it as a null.
void set_missing_time(Values& values) {
  for (size_t row = 0; row < values.rows; ++row)
    if (values.integers[row] == std::numeric_limits<int64_t>::min()) values.valid[row] = 0;
}

void decode_plain(const ArrowType& type, const ArrowArray& array, int64_t first, int64_t rows,
                  const std::string& where, Values& values) {
  const ArrowBuffers buffers(array, where);
  buffers.require_rows(first, rows);
  const int64_t begin = array.offset + first;
  values.rows = static_cast<size_t>(rows);
  buffers.copy_validity(type.kind == ValueKind::nothing, begin, rows, values.valid);
  switch (type.kind) {
    case ValueKind::boolean: {
      values.integers.resize(values.rows);
      const std::byte* const bits = buffers.data(1, "its values");
      for (int64_t i = 0; i < rows; ++i)
        values.integers[static_cast<size_t>(i)] = bit_at(bits, begin + i) ? 1 : 0;
      break;
    }
    case ValueKind::integer:
    case ValueKind::time:
      values.integers.resize(values.rows);
      decode_integers(type, buffers.data(1, "its values"), begin, rows, where, values);
      if (type.kind == ValueKind::time) set_missing_time(values);
      break;
    case ValueKind::real:
      values.reals.resize(values.rows);
      if (type.storage == 'd')
        decode_decimals(buffers.data(1, "its values") + begin * type.width, type, values);
      else
        each_number(type.storage, buffers.data(1, "its values"), begin, rows, [&](int64_t i, auto value) {
          values.reals[static_cast<size_t>(i)] = static_cast<double>(value);
        });
      set_missing_nan(values);
      break;
    case ValueKind::text:
      values.texts.resize(values.rows);
      decode_texts(type, buffers, begin, rows, values);
      break;
    case ValueKind::vector:
      values.reals.resize(values.rows * static_cast<size_t>(type.width));
      decode_vectors(type, buffers, begin, rows, values);
      break;
    case ValueKind::list:
      decode_lists(type, buffers, begin, rows, values);
      break;
    case ValueKind::nothing:
    case ValueKind::other:
      break;
  }
}

// Copies row `from` of `source` to row `to` of `values`.
void copy_row(const Values& source, size_t from, Values& values, size_t to) {
  values.valid[to] = source.valid[from];
  if (!source.integers.empty()) values.integers[to] = source.integers[from];
  if (!source.reals.empty()) values.reals[to] = source.reals[from];
  if (!source.texts.empty()) values.texts[to] = source.texts[from];
}

void make_rows(const ArrowType& type, int64_t rows, Values& values) {
  const auto is = [&](ValueKind kind) { return type.kind == kind; };
  values.rows = static_cast<size_t>(rows);
  values.valid.resize(values.rows);
  values.integers.assign(
      is(ValueKind::boolean) || is(ValueKind::integer) || is(ValueKind::time) ? values.rows : 0, 0);
  values.reals.assign(is(ValueKind::real) ? values.rows : 0, 0);
  values.texts.assign(is(ValueKind::text) ? values.rows : 0, std::string_view());
}

int64_t index_at(const ArrowType& type, const std::byte* data, int64_t at) {
  const std::byte* const from = data + at * type.index_bytes;
  switch (type.index_bytes) {
    case 1:
      return type.index_signed ? load<int8_t>(from) : static_cast<int64_t>(load<uint8_t>(from));
    case 2:
      return type.index_signed ? load<int16_t>(from) : static_cast<int64_t>(load<uint16_t>(from));
    case 4:
      return type.index_signed ? load<int32_t>(from) : static_cast<int64_t>(load<uint32_t>(from));
    default:
      return load<int64_t>(from);
  }
}

void decode_dictionary(const ArrowType& type, const ArrowArray& array, int64_t first, int64_t rows,
                       const std::string& where, Values& values) {
  const ArrowBuffers buffers(array, where);
  buffers.require_rows(first, rows);
  if (array.dictionary == nullptr) throw buffers.broken("no dictionary");
  // In a large dictionary, only the entries that rows refer to are read, because decoding all of it for a few
  // rows would take far longer.
  const bool whole = array.dictionary->length <= 4 * rows;
  Values known;
  decode_plain(type, *array.dictionary, 0, whole ? array.dictionary->length : 0, where, known);
  make_rows(type, rows, values);
  buffers.copy_validity(false, array.offset + first, rows, values.valid);
  const std::byte* const data = buffers.data(1, "its indices");
  for (int64_t i = 0; i < rows; ++i) {
    const auto to = static_cast<size_t>(i);
    if (values.valid[to] == 0) continue;
    const int64_t index = index_at(type, data, array.offset + first + i);
    if (index < 0 || index >= array.dictionary->length)
      throw buffers.broken("an index beyond its dictionary");
    if (!whole) decode_plain(type, *array.dictionary, index, 1, where, known);
    copy_row(known, static_cast<size_t>(whole ? index : 0), values, to);
  }
}

void decode_runs(const ArrowType& type, const ArrowArray& array, int64_t first, int64_t rows,
                 const std::string& where, Values& values) {
  const ArrowBuffers buffers(array, where);
  buffers.require_rows(first, rows);
  const ArrowArray& run_ends = buffers.child(0);
  const ArrowArray& child = buffers.child(1);
  const std::byte* const ends = ArrowBuffers(run_ends, where).data(1, "the ends of its runs");
  const int64_t begin = array.offset + first;
  int64_t low = 0;
  int64_t high = run_ends.length;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (index_at(type, ends, run_ends.offset + middle) <= begin)
      low = middle + 1;
    else
      high = middle;
  }
  int64_t last = low;
  while (last < run_ends.length && index_at(type, ends, run_ends.offset + last) < begin + rows) ++last;
  if (rows > 0 && (last >= run_ends.length || last >= child.length))
    throw buffers.broken("runs that end before its rows");
  Values known;
  decode_plain(type, child, low, rows > 0 ? last + 1 - low : 0, where, known);
  make_rows(type, rows, values);
  int64_t run = low;
  for (int64_t i = 0; i < rows; ++i) {
    while (index_at(type, ends, run_ends.offset + run) <= begin + i) ++run;
    copy_row(known, static_cast<size_t>(run - low), values, static_cast<size_t>(i));
  }
}

}  // namespace

void decode_arrow(const ArrowType& type, const ArrowArray& array, int64_t first, int64_t rows,
                  const std::string& where, Values& values) {
  values.integers.clear();
  values.reals.clear();
  values.texts.clear();
  // For other types, `items` may still have the values of an earlier list column.
  if (type.kind != ValueKind::list) {
    values.items.clear();
    values.lengths.clear();
  }
  switch (type.layout) {
    case ArrowType::Layout::plain:
      return decode_plain(type, array, first, rows, where, values);
    case ArrowType::Layout::dictionary:
      return decode_dictionary(type, array, first, rows, where, values);
    case ArrowType::Layout::runs:
      return decode_runs(type, array, first, rows, where, values);
  }
}

}  // namespace plimsoll
