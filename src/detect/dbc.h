#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "memory/charge.h"

namespace plimsoll {

/// A signal of a DBC: `SG_ NAME m2 : 7|16@0+ (0.01,0) [0|655.35] "km/h" RECEIVER`.
struct DbcSignal {
  std::string name;
  int start = 0;   ///< bit: the least significant one (Intel), or the most significant one (Motorola)
  int length = 0;  ///< bits, 1 to 64
  bool intel = true;
  bool is_signed = false;
  bool is_float = false;  ///< IEEE 754, of 32 or 64 bits
  double factor = 1;
  double offset = 0;
  double least = 0;  ///< least and most are both 0 where the DBC states none
  double most = 0;
  std::string unit;
  bool is_multiplexor = false;
  std::optional<int64_t> multiplexed;  ///< there while the multiplexor has this raw value
  bool extended_multiplexing = false;  ///< depends on another signal than the multiplexor: never read

  bool has_range() const { return least < most; }
  /// Whether a payload has it whose multiplexor has this raw value, if the message has one.
  bool is_there(std::optional<int64_t> multiplexor) const {
    return !extended_multiplexing && (!multiplexed || multiplexed == multiplexor);
  }
  /// Whether a raw value of a parameter group says that there is no value, or an error (SAE J1939-71, ISO
  /// 11783-7).
  bool is_no_value(int64_t raw) const;
  /// The raw value in a payload, sign-extended; none where the payload is too short. Of a float: its bits.
  std::optional<int64_t> raw(const uint8_t* payload, int64_t bytes) const;
  /// factor times the raw value, plus offset.
  double physical(int64_t raw) const;
};

/// A message of a DBC: `BO_ 291 Engine: 8 ECU` and its signals.
struct DbcMessage {
  std::string name;
  int64_t length = 0;     ///< bytes
  double cycle_ms = 0;    ///< attribute GenMsgCycleTime; 0: none
  bool is_cyclic = true;  ///< GenMsgSendType, where there is one, is "cyclic" or the like, not sent on events
  bool is_group = false;  ///< VFrameFormat is J1939PG: a parameter group, whoever sends it (detect/j1939.h)
  std::vector<DbcSignal> signals = {};

  /// The raw value of its multiplexor in a payload; none where there is none.
  std::optional<int64_t> multiplexor(const uint8_t* payload, int64_t bytes) const;
};

/// The messages of a DBC. Immutable.
class Dbc {
 public:
  /// By can_id, extended ones with SocketCAN's flag.
  using Messages = std::map<uint32_t, DbcMessage>;

  Dbc() = default;
  /// `charge`: what they take.
  Dbc(Messages messages, Charge charge);

  const Messages& messages() const { return messages_; }
  /// The message of an ID, remote or not; null where there is none. An ID that the DBC does not have is one
  /// of its parameter group, if there is such a message: of several the one of its source address, else of
  /// the null address 254, else the first.
  const Messages::value_type* find(uint32_t can_id) const;
  /// "" where there is none.
  std::string name_of(uint32_t can_id) const;
  bool has_groups() const { return !groups_.empty(); }

 private:
  Charge charge_{Tag::columns};
  Messages messages_;
  std::map<uint32_t, std::vector<uint32_t>> groups_;  // IDs by number of the group
};

/// Reads messages, signals, their value types, and the attributes GenMsgCycleTime, GenMsgSendType and
/// VFrameFormat; other statements are passed over, comments of several lines too. Errors: InputError with
/// file and line for a message or a signal that is none, and for a file without a message; BudgetExceeded.
Dbc read_dbc(const std::filesystem::path& path);

}  // namespace plimsoll
