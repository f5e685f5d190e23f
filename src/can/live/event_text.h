#pragma once

#include <string>

#include "base/json.h"
#include "can/dbc/dbc.h"
#include "can/live/incidents.h"

namespace plimsoll {

/// Data that events report in addition to the incident.
struct EventContext {
  std::string source;
  std::string vehicle;       ///< Name of the vehicle; may be empty.
  const Dbc* dbc = nullptr;  ///< Names of messages; must outlive the events.
  bool j1939 = false;        ///< Report 29-bit IDs split into their parts.
  int64_t suppressed = 0;    ///< Number of events that limits held back before this one.
  int64_t filtered = 0;      ///< Number of alarms that filters dropped since the previous event.
};

/// Formats an ID as "0x2C0", or as "can1:0x2C0" for merged channels; an extended ID has eight digits.
std::string id_text(uint32_t can_id, const std::string& channel = {});
/// The name of a message in the DBC. If the DBC does not define it and `j1939` is set, the name of the SAE
/// J1939 parameter group. May be empty.
std::string message_name(uint32_t can_id, const Dbc* dbc, bool j1939);
/// Adds the fields `pgn` and `source` of a 29-bit ID and, for a group that is sent to one address,
/// `destination`.
void add_j1939(uint32_t can_id, Json& json);
/// Formats a time as "2017-12-22T05:47:51.204117Z".
std::string iso_time(int64_t time_ns);

/// The event of an incident as a JSON object (docs/events.md).
Json event_json(const Incident& incident, const EventContext& context);
/// The event as a Detection Finding (class 2004) of the Open Cybersecurity Schema Framework 1.3, in JSON.
Json event_ocsf(const Incident& incident, const EventContext& context);
/// The event as a syslog message (RFC 5424) of facility local0, without a line end.
std::string event_syslog(const Incident& incident, const EventContext& context);

}  // namespace plimsoll
