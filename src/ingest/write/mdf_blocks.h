#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "io/file.h"

namespace plimsoll {

/// Appends blocks of MDF 4 to a file: a header, links to other blocks, data (ASAM MDF 4.1). Not thread-safe.
/// Errors: Failure.
class MdfBlocks {
 public:
  /// What comes before the first block.
  MdfBlocks(File& file, std::span<const uint8_t> start);

  /// Gives its place, a multiple of 8.
  uint64_t add(std::string_view id, std::span<const uint64_t> links, std::span<const uint8_t> data);
  uint64_t add(std::string_view id, std::initializer_list<uint64_t> links,
               std::span<const uint8_t> data = {}) {
    return add(id, std::span(links.begin(), links.size()), data);
  }
  uint64_t add_text(std::string_view text, std::string_view id = "##TX");
  /// Changes a link of a block that is there.
  void set_link(uint64_t block, size_t link, uint64_t to);
  /// Changes the number that stands in the data of a block with so many links.
  void set_number(uint64_t block, size_t links, size_t byte, uint64_t value);

 private:
  void write(const void* data, size_t bytes);

  File& file_;
  uint64_t position_ = 0;
};

}  // namespace plimsoll
