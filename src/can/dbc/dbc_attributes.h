#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "can/dbc/dbc_text.h"
#include "memory/charge.h"

namespace plimsoll {

/// The attributes of messages and signals that Plimsoll uses: cycle times, send types, frame formats and long
/// names. A DBC limits short names to 32 characters. Not thread-safe. Functions that read a statement get the
/// words after its keyword and may throw BudgetExceeded.
class DbcAttributes {
 public:
  /// Reads `BA_DEF_`: the values of an enumeration.
  void define(DbcWords words);
  /// Reads `BA_DEF_DEF_`: the default value.
  void set_default(DbcWords words);
  /// Reads `BA_`: the value of a message or a signal. Returns false if the attribute is used and its value
  /// cannot be read.
  bool set(DbcWords words);

  /// GenMsgCycleTime in milliseconds; 0 if there is none.
  double cycle_ms(uint32_t can_id) const;
  /// Whether GenMsgSendType is absent, "cyclic" or "cyclicX". It is false for "CyclicAndSpontaneous",
  /// "CyclicIfActive" and "OnChange".
  bool is_cyclic(uint32_t can_id) const;
  /// Whether VFrameFormat is J1939PG.
  bool is_group(uint32_t can_id) const;
  /// SystemMessageLongSymbol; empty if there is none.
  const std::string& message_name(uint32_t can_id) const;
  /// SystemSignalLongSymbol of the signal with this short name; empty if there is none.
  const std::string& signal_name(uint32_t can_id, const std::string& name) const;

 private:
  struct Attribute {
    std::vector<std::string> words = {};  // Values of an enumeration, in lower case.
    std::string usual = {};
    std::map<uint32_t, std::string> own = {};  // Values by can_id.

    const std::string& value_for(uint32_t can_id) const;
    std::string word_of(uint32_t can_id) const;
  };

  Attribute* attribute(std::string_view name);

  Attribute cycle_;
  Attribute send_type_;
  // The values in the order of Vector's numbers, for a DBC that defines the attribute as a number.
  Attribute frame_format_{.words = {"standardcan", "extendedcan", "", "j1939pg"}};
  Attribute message_name_;
  std::map<std::pair<uint32_t, std::string>, std::string> signal_names_;
  Charge charge_{Tag::ingest};
};

}  // namespace plimsoll
