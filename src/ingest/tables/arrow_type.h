#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/arrow_stream.h"

namespace plimsoll {

/// The form that the values of a column have in memory.
enum class ValueKind : uint8_t {
  nothing,  ///< A column of Arrow's type null.
  boolean,
  integer,
  real,
  text,    ///< Texts, or bytes of any length.
  time,    ///< A count of `unit` since 1970-01-01, as Arrow stores it.
  vector,  ///< A fixed number of reals.
  list,    ///< Any number of texts, integers or reals.
  other,   ///< A type that is not supported, such as a struct.
};

/// Maximum elements of a vector, and bytes of a binary value of fixed size.
inline constexpr int64_t kMaxWidth = 1 << 20;

/// The type of an Arrow column, from the format string of its schema.
struct ArrowType {
  enum class Layout : uint8_t { plain, dictionary, runs };

  ValueKind kind = ValueKind::other;
  Layout layout = Layout::plain;
  char storage = 0;     ///< First character of the format of the values, such as 'l' for int64.
  int index_bytes = 0;  ///< Bytes of an index into a dictionary, or of the end of a run or list.
  bool index_signed = true;
  int64_t width = 0;                 ///< Elements of a vector, or bytes of a binary or decimal value.
  int scale = 0;                     ///< Decimal digits after the point.
  bool is_view = false;              ///< Whether texts are views, formats "vu" and "vz".
  bool is_utf8 = false;              ///< Whether texts are UTF-8, not any bytes.
  char element = 0;                  ///< Storage of the elements of a vector.
  std::vector<ArrowType> item = {};  ///< The type of the items of a list.
  std::string unit = {};             ///< Unit of a time: D, s, ms, us or ns.
  std::string format = {};           ///< The format string in the schema, for messages.
};

/// Parses the type of a column. A type that is not supported is ValueKind::other. Errors: InputError for a
/// schema that violates the C interface; `where` names the column in messages.
ArrowType parse_arrow_type(const ArrowSchema& schema, const std::string& where);

}  // namespace plimsoll
