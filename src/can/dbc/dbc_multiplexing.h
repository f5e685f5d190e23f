#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "can/dbc/dbc.h"

namespace plimsoll {

/// The multiplexing of a signal as stated by its `SG_` line: `M`, `m2`, `m2M` or nothing.
struct DbcRole {
  int64_t line = 0;
  std::string_view whole = {};  ///< The whole line.
  bool is_multiplexor = false;
  bool is_multiplexed = false;
  std::optional<int64_t> value = {};  ///< Value of the multiplexor.
};

/// A line such as `SG_MUL_VAL_ 291 Heat Mode 4-4, 6-7;`. It has no ranges if it could not be read.
struct DbcMultiplexing {
  int64_t line = 0;
  std::string signal;
  std::string multiplexor;
  std::vector<DbcRange> multiplexor_values = {};
};

/// Sets the multiplexors of the signals of a message. `roles` has one entry per signal, in the same order. A
/// signal whose multiplexing is unclear is left out, with a remark. `charge` is increased by the growth of
/// the message.
void set_multiplexors(DbcMessage& message, const std::vector<DbcRole>& roles,
                      const std::vector<DbcMultiplexing>& lines, DbcRemarks& remarks, Charge& charge);

}  // namespace plimsoll
