#include "sample/neighbour/walk_file.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr int64_t kBuffer = 256 * 1024;

}  // namespace

template <typename T>
int64_t WalkFile<T>::row_bytes(int64_t walks) {
  constexpr int64_t kPage = ScratchFile::kAlignment;
  return (walks * static_cast<int64_t>(sizeof(T)) + kPage - 1) / kPage * kPage;
}

template <typename T>
std::optional<WalkFile<T>> WalkFile<T>::make(const std::filesystem::path& folder, int64_t walks,
                                             int64_t places) {
  auto file = ScratchFile::make(folder, row_bytes(walks) * places);
  if (!file) return std::nullopt;
  return WalkFile(std::move(*file), places);
}

template <typename T>
void WalkFile<T>::begin(int64_t walks) {
  walks_ = walks;
  written_ = 0;
}

template <typename T>
void WalkFile<T>::add(std::span<const T> at) {
  MappedBytes buffer(Tag::blocks, kBuffer);
  const std::span nodes(reinterpret_cast<T*>(buffer.data()), kBuffer / sizeof(T));
  int64_t offset = written_++ * row_bytes(walks_);
  while (!at.empty()) {
    const size_t some = std::min(nodes.size(), at.size());
    std::copy_n(at.begin(), some, nodes.begin());
    const int64_t bytes = row_bytes(static_cast<int64_t>(some));
    file_.write(offset, {buffer.data(), static_cast<size_t>(bytes)});
    offset += bytes;
    at = at.subspan(some);
  }
}

template <typename T>
void WalkFile<T>::read(int64_t together, const std::function<void(std::span<const T>)>& use) {
  const int64_t bytes = bytes_for(together, places_) / 2;
  MappedBytes by_place(Tag::blocks, bytes);
  MappedBytes by_walk(Tag::blocks, bytes);
  const auto* const from = reinterpret_cast<const T*>(by_place.data());
  auto* const to = reinterpret_cast<T*>(by_walk.data());
  for (int64_t first = 0; first < walks_; first += together) {
    const int64_t count = std::min(together, walks_ - first);
    const int64_t offset = first * static_cast<int64_t>(sizeof(T));
    const int64_t row = row_bytes(count);
    for (int64_t place = 0; place < places_; ++place)
      file_.read(place * row_bytes(walks_) + offset,
                 {by_place.data() + place * row, static_cast<size_t>(row)});
    const int64_t stride = row / static_cast<int64_t>(sizeof(T));
    for (int64_t walk = 0; walk < count; ++walk)
      for (int64_t place = 0; place < places_; ++place)
        to[walk * places_ + place] = from[place * stride + walk];
    use({to, static_cast<size_t>(count * places_)});
  }
}

template class WalkFile<uint32_t>;
template class WalkFile<int64_t>;

}  // namespace plimsoll
