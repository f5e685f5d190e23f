#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/charge.h"

namespace plimsoll {

/// Raw values of a multiplexor, both bounds included.
struct DbcRange {
  int64_t first = 0;
  int64_t last = 0;
};

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
  double min = 0;  ///< least and most are both 0 where the DBC states none
  double max = 0;
  std::string unit;
  int multiplexor = -1;  ///< place in its message of the signal that says when it is there; -1: always
  std::vector<DbcRange> there = {};  ///< raw values of the multiplexor with which it is there

  bool has_range() const { return min < max; }
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
  bool is_group = false;  ///< VFrameFormat is J1939PG: a parameter group, whoever sends it (can/dbc/j1939.h)
  std::vector<DbcSignal> signals = {};
};

/// A payload as its message describes it. Not thread-safe.
class DbcPayload {
 public:
  /// `message` and `payload`, which has `bytes`, outlive it.
  DbcPayload(const DbcMessage& message, const uint8_t* payload, int64_t bytes)
      : message_(message), payload_(payload), bytes_(bytes) {}

  /// The raw value of a signal of the message. None if the payload is too short, or if a multiplexor has a
  /// value with which the signal is not there.
  std::optional<int64_t> raw(const DbcSignal& signal);

 private:
  const DbcMessage& message_;
  const uint8_t* payload_;
  int64_t bytes_;
  int multiplexor_ = -1;               // the latest one that was read
  std::optional<int64_t> value_ = {};  // its raw value
};

/// A line of a DBC that breaks its grammar, and what was made of it.
struct DbcRemark {
  int64_t line = 0;
  std::string found;     ///< printable
  std::string expected;  ///< "a number after the m of a multiplexed signal"
  std::string done;      ///< "left out"

  /// "6: found 'SG_ A m : ...', expected ...; left out"
  std::string text() const;
};

/// The remarks on a DBC. Not thread-safe.
class DbcRemarks {
 public:
  static constexpr size_t kMaxKept = 64;

  void add(int64_t line, std::string_view found, std::string expected, std::string done);
  /// By line.
  void sort();
  /// The first ones, up to kMaxKept.
  const std::vector<DbcRemark>& kept() const { return kept_; }
  /// How many lines there are with a remark, kept or not.
  int64_t count() const { return count_; }

 private:
  std::vector<DbcRemark> kept_;
  int64_t count_ = 0;
};

/// The messages of a DBC. Immutable.
class Dbc {
 public:
  /// By can_id, extended ones with SocketCAN's flag.
  using Messages = std::map<uint32_t, DbcMessage>;

  Dbc() = default;
  /// `charge`: what they take.
  Dbc(Messages messages, DbcRemarks remarks, Charge charge);

  const Messages& messages() const { return messages_; }
  /// The message of an ID, remote or not; null where there is none. An ID that the DBC does not have is one
  /// of its parameter group, if there is such a message: of several the one of its source address, else of
  /// the null address 254, else the first.
  const Messages::value_type* find(uint32_t can_id) const;
  /// "" where there is none.
  std::string name_of(uint32_t can_id) const;
  bool has_groups() const { return !groups_.empty(); }
  const DbcRemarks& remarks() const { return remarks_; }

 private:
  Charge charge_{Tag::columns};
  Messages messages_;
  DbcRemarks remarks_;
  std::map<uint32_t, std::vector<uint32_t>> groups_;  // IDs by number of the group
};

/// Reads messages, signals, their multiplexing and value types, and the attributes GenMsgCycleTime,
/// GenMsgSendType, VFrameFormat, SystemMessageLongSymbol and SystemSignalLongSymbol; other statements are
/// passed over. Names and units are in UTF-8. A line that breaks the grammar costs no other line:
/// Dbc::remarks() has what was made of it. Errors: InputError for a file without a message; BudgetExceeded.
Dbc read_dbc(const std::filesystem::path& path);

}  // namespace plimsoll
