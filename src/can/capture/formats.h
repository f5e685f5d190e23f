#pragma once

#include "can/capture/capture_format.h"

namespace plimsoll {

// Each format has its own file. docs/can-formats.md shows a line of each. `first_lines` is the start of the
// file, at most 64 KiB of it, from which a format reads its header; its last line may be incomplete.

/// The four-column CSV of can-train-and-test: timestamp, ID in hex, payload in hex, attack, by position.
std::unique_ptr<CaptureFormat> make_ctat_csv();
/// HCRL's CSV: timestamp, ID in hex, DLC, DLC bytes in hex, flag R (normal) or T (attack).
std::unique_ptr<CaptureFormat> make_hcrl_csv();
/// HCRL's text: "Timestamp: 0.000000 ID: 0316 000 DLC: 8 05 20 ...". Its frames have no labels.
std::unique_ptr<CaptureFormat> make_hcrl_text();
/// can-utils' candump in both layouts, compact "(t) can0 123#AABB" and spaced "(t) can0 123 [2] AA BB", with
/// any of its kinds of times or none.
std::unique_ptr<CaptureFormat> make_candump(const FormatOptions& options, std::string_view first_lines);
/// Vector's ASCII log: "0.015991 1  2D5  Rx  d 8 00 ...", including CAN FD. Its times count from the date in
/// the header.
std::unique_ptr<CaptureFormat> make_asc(const FormatOptions& options, std::string_view first_lines);
/// PEAK's trace in versions 1.0 to 2.1, which its header states: "1)  1059.9  Rx  0300  7  00 ...".
std::unique_ptr<CaptureFormat> make_trc(const FormatOptions& options, std::string_view first_lines);
/// The CSV of GVRET and SavvyCAN: "Time Stamp,ID,Extended,Dir,Bus,LEN,D1,...", with times in us. If a
/// spreadsheet saved the file, it may contain TRUE and semicolons.
std::unique_ptr<CaptureFormat> make_gvret(const FormatOptions& options, std::string_view first_lines);
/// Whether the first line is the header of GVRET's CSV.
bool is_gvret(std::string_view first_lines);
/// The CSV of Cabana: "time,addr,bus,data".
std::unique_ptr<CaptureFormat> make_cabana(const FormatOptions& options, std::string_view first_lines);
/// BUSMASTER's log, whose header states the base of its numbers and the kind of its times: "22:20:14:9920 Rx
/// 1 0x21A s 8 FE 36 ...".
std::unique_ptr<CaptureFormat> make_busmaster(const FormatOptions& options, std::string_view first_lines);
/// The CSV of python-can's CSVWriter, whose payloads are in base64.
std::unique_ptr<CaptureFormat> make_python_can();
/// A table whose columns the user describes in `options`. Errors: UsageError if the description is wrong.
std::unique_ptr<CaptureFormat> make_table(const FormatOptions& options, std::string_view first_lines);

}  // namespace plimsoll
