#include "store/linked_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "base/error.h"
#include "memory/vector.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr size_t kNumbers = 64 << 10;  // Number of values that are read at once.

NumberType type_of_features(const NpyView& view, const fs::path& path) {
  const auto type = npy_number_type(view.shape().dtype);
  if (!type || type == NumberType::bf16 || view.shape().shape.size() != 2)
    throw InputError(
        fmt::format("{}: is an array of '{}' with {} axes, expected '<f4', '<f2', '|u1' or '|i1' with "
                    "two, [V, F]; leave --link out to convert it",
                    path.string(), view.shape().dtype, view.shape().shape.size()));
  return *type;
}

// Hashes the numbers as they are stored and as f32.
void read_numbers(const NpyView& view, NumberType type, const fs::path& path,
                  const std::function<void()>& tick, Hasher& stored, Hasher& wide) {
  const auto item = static_cast<size_t>(bytes_of(type));
  const auto columns = static_cast<size_t>(std::max<int64_t>(view.shape().shape[1], 1));
  const size_t count = view.data().size() / item;
  Vector<float, Tag::columns> numbers;
  for (size_t first = 0; first < count; first += kNumbers) {
    tick();
    const size_t here = std::min(kNumbers, count - first);
    const auto bytes = view.data().subspan(first * item, here * item);
    numbers.resize(here);
    widen(type, bytes.data(), numbers);
    const auto* const odd = std::find_if(numbers.data(), numbers.data() + here,
                                         [](float value) { return !std::isfinite(value); });
    if (odd != numbers.data() + here) {
      const size_t at = first + static_cast<size_t>(odd - numbers.data());
      throw InputError(fmt::format("{}: row {}, column {}: found {}, expected a finite number; fix the array",
                                   path.string(), at / columns, at % columns, *odd));
    }
    stored.add(bytes);
    if (type != NumberType::f32) wide.add(std::span<const float>(numbers.data(), here));
  }
}

}  // namespace

LinkedColumn link_column(const fs::path& array, const fs::path& link, const std::function<void()>& tick) {
  const NpyView view(array);
  const NumberType type = type_of_features(view, array);
  Hasher stored, wide;
  read_numbers(view, type, array, tick, stored, wide);
  LinkedColumn column{.shape = view.shape(), .checksum = stored.hex64(), .narrow = Json(), .how = "hard"};
  if (type != NumberType::f32)
    column.narrow = {{"type", name_of(type)}, {"exact", true}, {"xxh3_f32", wide.hex64()}};
  std::error_code failed;
  // A link to a symbolic link would change with its target.
  const fs::path file = fs::canonical(array);
  fs::create_hard_link(file, link, failed);
  if (!failed) return column;
  column.how = "symbolic";
  fs::create_symlink(file, link, failed);
  if (failed)
    throw Failure(fmt::format("cannot link {} to {}: {}", link.string(), file.string(), failed.message()));
  return column;
}

}  // namespace plimsoll
