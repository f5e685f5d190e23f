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
  bool force = false;                       ///< Replace an existing output.
  std::vector<std::string> leave_out = {};  ///< Kinds of frames that may be left out.
  FormatOptions format = {};                ///< Format of the source if it is a capture.
  /// Maximum number of threads that read and parse the source if it is a capture.
  int threads = 1;
};

struct ConvertResult {
  std::filesystem::path out;  ///< The file, or the folder of files.
  int64_t recordings = 0;
  int64_t frames = 0;
  bool labels = false;  ///< Each frame is followed by its label (candump).
  bool fd = false;      ///< Whether `ingest can` needs --payload 64 to read the output.
  bool merged = false;  ///< Whether `ingest can` needs --merge-channels to read the output.
  WriteLosses losses;
  std::optional<Truncation> truncation = {};  ///< Place at which the capture is cut off.
};

/// Converts a `frames` set to a folder of captures with one file SPLIT/NAME.ending per recording, which
/// `ingest can` reads back to the same columns. `progress` receives the number of frames done and in total.
/// Throws InputError, which names the recording, if the format cannot represent it: if it has no times, no
/// payloads or frames of a kind that may not be left out or, for candump, if only some recordings have
/// labels. Also throws UsageError, Failure and BudgetExceeded. On an error the output is unchanged.
ConvertResult convert_frames(const ConvertOptions& options,
                             const std::function<void(int64_t, int64_t)>& progress);

/// Converts a capture to another format, with all its channels, in the order of its frames. The output is the
/// file `out`, or a file in the folder `out` if `out` does not end like the name of a capture. Memory does
/// not grow with the capture. `progress` receives the number of source bytes done and in total. Errors: those
/// of convert_frames() and those of reading.
ConvertResult convert_capture(const ConvertOptions& options,
                              const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
