#pragma once

#include <memory>

#include "io/input_stream.h"

namespace plimsoll {

/// Returns a stream without the byte order mark, EF BB BF, that some editors and spreadsheets write before
/// UTF-8 text. The hash is still that of the whole file.
std::unique_ptr<InputStream> without_byte_order_mark(std::unique_ptr<InputStream> stream);

}  // namespace plimsoll
