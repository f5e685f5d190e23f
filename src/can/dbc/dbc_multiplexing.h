#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "can/dbc/dbc.h"

namespace plimsoll {

/// How a line `SG_` says that its signal is multiplexed: `M`, `m2`, `m2M`, or nothing.
struct DbcRole {
  int64_t line = 0;
  std::string_view whole = {};  ///< the line
  bool is_multiplexor = false;
  bool is_multiplexed = false;
  std::optional<int64_t> value = {};  ///< of the multiplexor
};

/// A line `SG_MUL_VAL_ 291 Heat Mode 4-4, 6-7;`. Without ranges it could not be read.
struct DbcMultiplexing {
  int64_t line = 0;
  std::string signal;
  std::string multiplexor;
  std::vector<DbcRange> there = {};
};

/// Sets the multiplexors of the signals of a message, whose `roles` are in the same order. Signals of which
/// it is not clear when they are there are left out, with a remark. `charge` gets what the message grows by.
void set_multiplexors(DbcMessage& message, const std::vector<DbcRole>& roles,
                      const std::vector<DbcMultiplexing>& lines, DbcRemarks& remarks, Charge& charge);

}  // namespace plimsoll
