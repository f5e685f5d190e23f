#include "io/number_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "io/file_ending.h"
#include "io/npz.h"

namespace plimsoll {
namespace {

struct Known {
  std::string_view dtype;  // NumPy's name.
  std::string_view raw;    // The name in options.
  int64_t bytes;
};

// In the order of NumberArray::Type.
constexpr std::array<Known, 12> kKnown = {{{"|b1", "bool", 1},
                                           {"|i1", "i8", 1},
                                           {"|u1", "u8", 1},
                                           {"<i2", "i16", 2},
                                           {"<u2", "u16", 2},
                                           {"<i4", "i32", 4},
                                           {"<u4", "u32", 4},
                                           {"<i8", "i64", 8},
                                           {"<u8", "u64", 8},
                                           {"<f2", "f16", 2},
                                           {"<f4", "f32", 4},
                                           {"<f8", "f64", 8}}};

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float load_half(const std::byte* from) {
  float value = 0;
  widen(NumberType::f16, from, std::span(&value, 1));
  return value;
}

}  // namespace

bool names_array(const std::filesystem::path& path) {
  const std::string ending = lower_ending(array_place(path).file);
  return ending == ".npy" || ending == ".npz";
}

ArrayPlace array_place(const std::filesystem::path& path) {
  constexpr std::string_view kMark = ".npz:";
  const std::string text = path.string();
  const size_t mark = text.rfind(kMark);
  if (mark == std::string::npos || std::filesystem::exists(path)) return {path};
  return {text.substr(0, mark + kMark.size() - 1), text.substr(mark + kMark.size())};
}

NumberArray::NumberArray(const std::filesystem::path& path, const RawArray& raw) : path_(path.string()) {
  const ArrayPlace place = array_place(path);
  file_ = MappedFile(place.file);
  std::span<const std::byte> bytes = file_.bytes();
  if (!raw.dtype.empty()) {
    const auto* const known = std::ranges::find(kKnown, raw.dtype, &Known::raw);
    if (known == kKnown.end())
      throw UsageError(
          fmt::format("--dtype: found '{}', expected bool, i8, u8, i16, u16, i32, u32, i64, u64, "
                      "f16, f32 or f64",
                      raw.dtype));
    take(std::string(known->dtype), raw.shape, bytes);
    return;
  }
  if (lower_ending(place.file) == ".npz") bytes = npz_member(bytes, place.file.string(), place.member);
  NpyLayout layout = parse_npy_layout(bytes, path_);
  fortran_ = layout.fortran && layout.shape.shape.size() > 1;
  take(std::move(layout.shape.dtype), std::move(layout.shape.shape),
       bytes.subspan(static_cast<size_t>(layout.offset)));
}

// Checks type and shape against the bytes of the data.
void NumberArray::take(std::string dtype, std::vector<int64_t> shape, std::span<const std::byte> data) {
  const auto* const known = std::ranges::find(kKnown, dtype, &Known::dtype);
  if (known == kKnown.end())
    throw InputError(
        fmt::format("{}: dtype is '{}', expected whole or real numbers of at most 64 bits, little-endian; "
                    "convert it with astype() and save it again",
                    path_, dtype));
  const NpyShape checked{dtype, shape};
  const auto found = static_cast<int64_t>(data.size());
  if (const int64_t expected = checked.elements();
      expected < 0 || expected > found / known->bytes || expected * known->bytes != found)
    throw InputError(
        fmt::format("{}: found {} bytes of data, expected {} numbers of {} bytes, as its shape says; "
                    "fetch it again, or correct the shape",
                    path_, found, expected, known->bytes));
  type_ = static_cast<Type>(known - kKnown.begin());
  dtype_ = std::move(dtype);
  shape_ = std::move(shape);
  columns_ = 1;
  for (size_t axis = 1; axis < shape_.size(); ++axis) columns_ *= shape_[axis];
  data_ = data;
}

const std::byte* NumberArray::at(int64_t row, int64_t column) const {
  const int64_t element = fortran_ ? column * rows() + row : row * columns_ + column;
  return data_.data() + element * kKnown[static_cast<size_t>(type_)].bytes;
}

int64_t NumberArray::whole(int64_t row, int64_t column) const {
  const std::byte* const from = at(row, column);
  switch (type_) {
    case Type::boolean:
      return load<uint8_t>(from) != 0 ? 1 : 0;
    case Type::i8:
      return load<int8_t>(from);
    case Type::u8:
      return load<uint8_t>(from);
    case Type::i16:
      return load<int16_t>(from);
    case Type::u16:
      return load<uint16_t>(from);
    case Type::i32:
      return load<int32_t>(from);
    case Type::u32:
      return load<uint32_t>(from);
    case Type::u64:
      return static_cast<int64_t>(std::min(load<uint64_t>(from), static_cast<uint64_t>(INT64_MAX)));
    default:
      return load<int64_t>(from);
  }
}

double NumberArray::real(int64_t row, int64_t column) const {
  const std::byte* const from = at(row, column);
  switch (type_) {
    case Type::f16:
      return load_half(from);
    case Type::f32:
      return load<float>(from);
    case Type::f64:
      return load<double>(from);
    case Type::u64:
      return static_cast<double>(load<uint64_t>(from));
    default:
      return static_cast<double>(whole(row, column));
  }
}

void NumberArray::copy_row(int64_t row, std::span<float> to) const {
  constexpr auto kSame = [](Type type) -> std::optional<NumberType> {
    switch (type) {
      case Type::f32:
        return NumberType::f32;
      case Type::f16:
        return NumberType::f16;
      case Type::u8:
        return NumberType::u8;
      case Type::i8:
        return NumberType::i8;
      default:
        return std::nullopt;
    }
  };
  if (const auto same = kSame(type_); same && !fortran_) return widen(*same, at(row, 0), to);
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(real(row, static_cast<int64_t>(i)));
}

void note_rounding(const NumberArray& array, std::vector<std::string>& notes) {
  using Type = NumberArray::Type;
  if (array.type() <= Type::u16 || array.type() == Type::f16 || array.type() == Type::f32) return;
  notes.push_back(
      fmt::format("{}: holds numbers of type '{}', which are rounded to f32", array.path(), array.dtype()));
}

}  // namespace plimsoll
