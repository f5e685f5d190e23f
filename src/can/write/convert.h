#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "can/capture/capture_format.h"
#include "can/capture/truncation.h"
#include "can/write/capture_writer.h"

namespace plimsoll {

struct ConvertOptions {
  std::filesystem::path source;
  std::filesystem::path out;
  const WrittenFormat* to = nullptr;
  bool force = false;                       ///< replace an existing output
  std::vector<std::string> leave_out = {};  ///< kinds of frames that may be missing
  FormatOptions format = {};                ///< of a capture
  int threads = 1;                          ///< for a capture: reading and writing at the same time
};

struct ConvertResult {
  std::filesystem::path out;  ///< the file, or the folder of files
  int64_t recordings = 0;
  int64_t frames = 0;
  bool labels = false;  ///< in candump: a label stands after each frame
  bool fd = false;      ///< read back with --payload 64
  bool merged = false;  ///< read back with --merge-channels
  WriteLosses losses;
  std::optional<Truncation> truncation = {};  ///< where the capture is cut off
};

/// A `frames` set to a folder of captures, SPLIT/NAME.ending, a file a recording, that `ingest can` reads
/// back to the same columns. `progress` gets frames done and in all. Errors: InputError that names the
/// recording where the format cannot tell what it holds (no times, no payload, kinds of frames that are not
/// to be left out, in candump recordings with labels beside such without), UsageError, Failure,
/// BudgetExceeded. The output is then as it was.
ConvertResult convert_frames(const ConvertOptions& options,
                             const std::function<void(int64_t, int64_t)>& progress);

/// A capture to one in another format, with all its channels, in the order of its frames: the file `out`, or
/// where that has no ending of a capture, a file in that folder. Memory does not grow with it. `progress`
/// gets bytes of the source done and in all. Errors: those of convert_frames() and of reading.
ConvertResult convert_capture(const ConvertOptions& options,
                              const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
